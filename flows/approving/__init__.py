"""A person in the loop: what a run asks, and what its answers come to.

`questions` is pure; `asking` looks for answers in the store of `approvals`, the first of which
counts.
"""
