"""The flow: it compiles, schedules and drives a plan, up to its answer and its result.

`plan.compile` and `plan.schedule` decide, purely; `drive`, `attempt` and `execute` carry that out.
`prefect_io` is all that talks to the Prefect server.
"""
