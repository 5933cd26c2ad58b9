"""Looks for the project that runs it."""

import os

from attempt import outside, refused

refused(
    lambda: open(outside["project"] + "/pyproject.toml").read(),
    lambda: os.listdir(outside["project"] + "/gates"),
    lambda: os.listdir(outside["project"] + "/.git"),
)
