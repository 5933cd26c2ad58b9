"""What is learned from the log: values, durations, credit and rewards.

Pure, except for `storage`, which keeps it so that a process needn't read the whole log.
"""
