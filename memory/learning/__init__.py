"""Learning from the log: values, durations, credit and rewards.

Pure, except for `after_run` and the storage of beliefs.
"""
