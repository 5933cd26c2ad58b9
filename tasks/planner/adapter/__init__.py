"""The planner of a model that was trained to plan: prompts, line format, score, choice, repair.

Pure, but for `planner`. What only a small model needs stands here and nowhere else.
"""
