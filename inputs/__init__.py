"""Documents that a run is given: files are read, checked and named before any model is asked.

What a file may be, and how large, stands in `kinds` and `limits`. No Prefect, no model.
"""
