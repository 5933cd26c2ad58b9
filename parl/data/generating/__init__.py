"""Patterns become objectives and their plans. The same seed gives the same pairs.

Pure, but for `corpus`, which reads the pattern files.
"""
