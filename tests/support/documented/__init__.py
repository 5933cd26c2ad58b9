"""The commands and Python blocks of the docs: found, run as a reader would, and compared."""
