"""The command `doctor`: what is set up, what is missing, and what to do about it.

`checks` and `prefect_checks` find what is there and return `checks.Check`s; `command` prints them.
"""
