"""What the package needs of the machine that it runs on, looked at when it is imported.

`bounded` runs a script within bounds. It imports the standard library, `errors` and `text` alone.
"""
