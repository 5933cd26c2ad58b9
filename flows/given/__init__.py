"""What a run is given to read: taken in, kept in its folder, and put into its plan.

`merging` is pure. Nothing of a document is a parameter of the flow run: it may be too large.
May be imported by `flows`, `evals` and `cli`.
"""
