"""The tools of an attempt: bounded, journaled and told as events."""
