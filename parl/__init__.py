"""Training of the planner's adapter, and signs that steps of a run were idle.

`retrain` decides whether a new adapter is served; `data` generates pairs, `train` trains,
`agreement` compares plans. `collapse` reads the signs from a run's plan and outputs.
"""
