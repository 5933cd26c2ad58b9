"""What is measured of a run, as data, and what each figure means. Pure, but for the clock.

`stretch` has its time, `metrics` its critical path, `meanings` words, `clock` the time meanwhile.
"""
