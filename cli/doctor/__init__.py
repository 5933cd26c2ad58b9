"""The command `doctor`: what is set up, what is missing, and what to do about it.

A module a subject, each of which returns `check.Check`s; `command` prints them.
"""
