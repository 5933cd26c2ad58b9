"""Two runs side by side: their plans, answers and figures.

Pure, but for `stored`, which reads a run's folder.
May be imported by `flows` and `cli`.
"""
