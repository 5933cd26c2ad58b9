"""Who hears of a run's events: its folder, and readers in the run's own process.

Events are numbered and written before anybody hears of them; nothing waits for a reader.
May be imported by `flows`.
"""
