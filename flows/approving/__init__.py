"""A person in the loop: what a run asks, and what its answers come to."""
