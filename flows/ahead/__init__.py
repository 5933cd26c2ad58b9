"""Steps of a plan that is still being written: their first requests are made ahead of it.

Answers that were made ahead are taken by the attempts; they change nothing else of a run.
May be imported by `flows`.
"""
