"""What a planner is shown beside the objective: what the swarm has, and what it has seen.

Tiers, gates, personas and earlier plans as bounded, quoted text. Pure, but for `remembered`.
"""
