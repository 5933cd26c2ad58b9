"""An attempt's artifact is held against the gates of its step, as task runs of the run's flow."""
