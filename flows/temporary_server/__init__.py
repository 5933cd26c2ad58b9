"""The Prefect server of a process for which none is configured.

It ends with its parent, once all is written. It is started only where no server is configured.
"""
