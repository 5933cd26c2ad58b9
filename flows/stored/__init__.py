"""What a run's folder keeps of it, and what another process takes from there."""
