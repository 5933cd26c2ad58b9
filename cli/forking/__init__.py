"""The commands `fork` and `diff`.

What a fork takes over and how runs differ is decided in `flows.forking` and `flows.compared`.
May be imported by `cli`.
"""
