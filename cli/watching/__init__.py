"""The command `watch`: a run of another process, live, until it is over.

Where it stands is pure. Its folder is followed, or the flow run is read from a server.
"""
