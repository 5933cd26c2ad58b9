"""What the orchestrator looks at with tools before it plans.

Calls of tools that change nothing, bounded and journaled; notes of them go into the request for a
plan.
May be imported by `flows`.
"""
