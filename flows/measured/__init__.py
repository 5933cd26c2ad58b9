"""What a run's time went to, noted while it goes on and put together at its end.

`attempt_times` notes what an attempt took beside its model, gates and tools; `run_time` reads the
run's events and has `parl.explained` follow its end back to its beginning.
May be imported by `flows`.
"""
