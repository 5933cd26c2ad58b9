"""Gates that run Python: examples and tests, of a step and of several steps together.

Code runs in the sandbox; reading code and judging results is pure.
"""
