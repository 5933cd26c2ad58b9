"""Runs whose folder isn't on this machine.

`place` notes on the flow run where the folder is, and says whether a run is lost. `handing_back`
gives a lost run back to its work pool.
May be imported by `flows`.
"""
