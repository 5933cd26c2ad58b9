"""What the flow's task runs do: plan, recall, subagent, gate, failure router, replacement, answer.

Decisions (`failure_router`, `replan`, `remember`) are pure. No module here knows the schedule.
"""
