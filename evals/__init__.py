"""Evaluations: objectives with checks, each run several times, and what got worse since.

Cases, checks, reports and their comparison are pure; `swarm` as a task of pydantic-evals is not.
"""
