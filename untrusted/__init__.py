"""What others may have written: files in folders, names and numbers in them, and JSON.

It imports the standard library, pydantic, `errors` and `files` alone.
"""
