"""A batch that is started again: which lines are done, which runs go on, and what comes anew.

`keys` says which line is which (pure), `output` has the batch's files. `running` runs a line, and
`patience` repeats what a server didn't take.
"""
