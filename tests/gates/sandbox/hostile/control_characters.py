"""Writes what is not a text, and what moves a cursor."""

import os

os.write(1, b"\x1b[2J\x1b]0;title\x07\xff\xfe\x00caf\xc3\xa9\xed\xa0\x80\n")
os.write(2, bytes(range(256)))
