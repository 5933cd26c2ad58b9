"""A run as one HTML document, for Python, notebooks and the command line.

May be imported by `flows` and `cli`.
"""
