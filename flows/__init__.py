"""The flow: it compiles, schedules and drives a plan, up to its answer and its result.

`compile`, `schedule` and `events` are pure; `drive`, `attempt` and `execute` carry out what they
decide. Sub-packages hold what a run has beside its steps: bounds, approval, storage, spans.
"""
