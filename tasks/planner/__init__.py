"""Planners: an objective becomes a `TaskIR`. `task` chooses the planner for a model.

`structured` has those for providers and model files, `adapter_planner` that of the embedded model.
"""
