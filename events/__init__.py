"""What happens in a run, as typed events: told as it happens, and kept in the run's folder."""
