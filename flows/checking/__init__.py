"""An attempt's artifact is held against the gates of its step, as task runs of the run's flow.

Which task run each gate is, and what the gates found, told of one by one.
May be imported by `flows`.
"""
