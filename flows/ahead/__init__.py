"""Steps of a plan that is still being written: their first requests are made ahead of it."""
