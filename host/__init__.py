"""What the package needs of the machine that it runs on, looked at when it is imported.

It imports the standard library, `errors` and `text` alone.
May be imported by `model_names`, `settings`, `events`, `memory`, `blocks`, `toolsets`,
`serve`, `flows` and `cli`.
"""
