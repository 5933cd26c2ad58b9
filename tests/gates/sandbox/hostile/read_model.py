"""Reads the weights of the model that wrote it."""

from attempt import outside, refused

refused(lambda: open(outside["model"], "rb").read(4))
