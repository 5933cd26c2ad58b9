"""The log of episodes, in SQLite or PostgreSQL: append-only, for any number of processes."""
