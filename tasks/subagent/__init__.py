"""One attempt of one subagent: the request with its limits, the answer, the artifact in it.

`extraction`, `request`, `continuation`, `refusal` and `early_abort` are pure; `asking` asks the
model.
"""
