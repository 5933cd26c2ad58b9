"""The work of the flow's task runs: plan, recall, subagent, gate, failure router, answer.

Decisions (`failure_router`, `replan`, `remember`) are pure. No module here knows the schedule.
"""
