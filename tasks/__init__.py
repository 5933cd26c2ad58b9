"""The work of the flow's task runs: plan, recall, subagent, gate, failure router, answer.

The failure router is pure. No module here knows the schedule.
"""
