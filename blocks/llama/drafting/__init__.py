"""Guessing what a model writes next, so that several tokens are computed together.

Guesses from what a text repeats (`lookup`). Pure.
"""
