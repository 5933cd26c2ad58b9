"""Run Python in the sandbox that the gates use, with state between the calls of an attempt."""
