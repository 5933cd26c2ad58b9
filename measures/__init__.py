"""What is measured of a run, as data, and what each figure means. Pure, but for the clock.

`stretch` has what the time went to, `metrics` how much of the critical path was cut, `meanings` a
line on each for whoever reads it, `clock` the time while a run goes on. The result of a run is made
of them; `parl` computes them.
May be imported by `gates`, `result`, `events`, `blocks`, `toolsets`, `tasks`, `parl`, `flows` and
`cli`.
"""
