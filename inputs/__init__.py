"""Input documents of a run: files are read, checked and named before any model is asked.

`contents` has kinds and limits of files, `reading` reads them. No Prefect, no model.
"""
