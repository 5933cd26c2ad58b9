"""One attempt of one subagent: the request with its limits, the answer, the artifact.

`answer` and `compaction` are pure; `asking` asks the model, `tool_loop` makes its
calls, and `conversation` sends less of a long conversation.
"""
