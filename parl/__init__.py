"""Training of the planner's adapter. `retrain` decides whether a new adapter is

served; `data` generates pairs, `train` trains, `agreement` compares plans.
"""
