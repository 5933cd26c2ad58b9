"""Model files with the planner's adapter added to their weights, made once.

The arithmetic of GGUF's blocks is pure; `prepared` writes the file, `choice` says who uses it.
"""
