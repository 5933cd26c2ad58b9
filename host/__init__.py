"""What the package needs of the machine that it runs on, looked at when it is imported.

It imports the standard library and `errors` alone.
May be imported by `model_names`, `settings`, `events`, `blocks`, `toolsets`, `flows` and `cli`.
"""
