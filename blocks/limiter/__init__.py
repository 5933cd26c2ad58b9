"""What bounds and repeats the requests to a provider: the only layer that does.

A provider that refuses is sent less at once and asked again later; one that never will accept is
not asked again in the run. Imports nothing of this package but its errors.
"""
