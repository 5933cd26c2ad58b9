"""What is measured of a run, as data, and what each figure means. Pure.

`stretch` has what the time went to, `metrics` how much of the critical path was cut, `meanings` a
line on each for whoever reads it. The result of a run is made of them; `parl` computes them.
May be imported by `result`, `parl`, `tasks`, `flows` and `cli`.
"""
