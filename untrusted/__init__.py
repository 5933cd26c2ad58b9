"""What others may have written: files in folders, names and numbers in them, and JSON.

It imports the standard library, pydantic, `errors` and `files` alone.
May be imported by `approvals`, `blocks`, `cli`, `evals`, `events`, `flows`, `gates`, `measures`,
`memory`, `result`, `runs`, `tool_call` and `toolsets`.
"""
