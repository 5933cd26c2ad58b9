"""Facts about the machine and its environment, read when the package is imported.

`bounded` runs a script within bounds. It imports the standard library, `errors` and `text` alone.
"""
