"""What a planner is shown beside the objective: what the swarm has, and what it has seen."""
