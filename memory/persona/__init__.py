"""Personas as data, and what was decided about them.

`model`, `names`, `matching`, `review` and `registry` are pure; `store` keeps the decisions.
"""
