"""Learning from the log: Q-values, durations, rewards and their shaping, mitigations.

Pure, except for `after_run`, the storage of beliefs, and `precedents`.
"""
