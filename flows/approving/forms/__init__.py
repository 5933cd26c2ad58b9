"""What a run asks a person, as a form in the Prefect UI, and what comes back of it.

`fields`, `plan_box` and `reading` are pure; `server` and `pausing` talk to the Prefect server.
"""
