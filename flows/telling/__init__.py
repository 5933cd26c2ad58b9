"""Who hears of a run's events: its folder, and readers in the run's own process."""
