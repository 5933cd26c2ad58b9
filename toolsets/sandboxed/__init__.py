"""Run Python in the sandbox that the gates use, with state between the calls of an attempt.

A call counts once its line is in `calls.json`; `guest` runs in the sandbox and is never imported.
"""
