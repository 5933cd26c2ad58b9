"""The plan language, and pure functions on plans."""
