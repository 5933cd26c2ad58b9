"""The command `doctor`: what is set up, what is missing, and what to do about it.

Each module checks one subject and returns `check.Check`s; `command` prints them.
"""
