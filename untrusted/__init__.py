"""Reading of what others may have written: files in folders, JSON and YAML.

It imports the standard library, pydantic, `errors` and `files` alone.
"""
