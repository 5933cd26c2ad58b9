"""Input documents of a run: files are read, checked and named before any model is asked.

`contents` has kinds and limits of files, `pictures` and `office` those of their kind, `selection`
the patterns over their paths, `folders` finds them, `reading` reads them. No Prefect, no model.
"""
