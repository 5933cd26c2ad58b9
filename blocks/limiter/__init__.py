"""What bounds and repeats the requests to a provider: the only layer that does.

One limiter a provider and key. `window` and `faults` are pure; what an answer is says
`blocks.answers`.
"""
