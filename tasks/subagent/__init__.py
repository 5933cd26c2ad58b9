"""One attempt of one subagent: the request with its limits, the answer, the artifact.

`answer` and `request_settings` are pure; `asking` asks the model, `tool_loop` makes its
calls.
"""
