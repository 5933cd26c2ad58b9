"""Planners: an objective becomes a `TaskIR`. Which a model has, `planner` says.

`structured` for providers, `grammar` for model files, `adapter` for the embedded model.
"""
