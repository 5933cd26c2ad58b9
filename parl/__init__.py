"""Metrics of runs (`metrics`, pure), and the training of the planner's adapter.

`retrain` and `evaluate` say whether a new adapter is served; `data` has pairs, `train` the
training.
"""
