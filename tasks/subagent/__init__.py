"""One attempt of one subagent: the request with its limits, the answer, the artifact.

`answer` is pure; `asking` asks the model, `tool_loop` makes its
calls.
"""
