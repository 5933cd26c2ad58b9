"""What a command shows while a run goes on, and the signals that end it.

`board` is pure (events in, rows out); `live`, `plain` and `json_lines` draw it; `session` has a
run's life.
"""
