"""Runs whose folder isn't on this machine.

`place` notes on the flow run where a run's folder is, before anything is paid for, and says whether
a run is lost; `handing_back` gives a lost run back to its work pool, for the worker that has it.
May be imported by `flows`.
"""
