"""Planners: an objective becomes a `TaskIR`. `task` chooses the planner for a model.

`planners` has those for providers and for model files, the embedded model's too.
"""
