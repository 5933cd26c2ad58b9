"""The commands `waiting`, `approve`, `reject` and `edit`, and asking at the terminal.

They read and write the questions of `approvals`, and go on with a run only where asked to.
"""
