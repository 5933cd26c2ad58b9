"""The steps of a run spread over a Dask cluster: attempts are worked on by its workers.

`executor` is the process that executes the run, `worker` what works on an attempt, `payload` what
goes from one to the other, `entry` what Dask calls there, and `connection` the cluster.
"""
