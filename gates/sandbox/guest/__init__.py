"""The programs inside the sandbox: they import the standard library and nothing of this package.

They never know which result is right. Their files are read as text and run there.
"""
