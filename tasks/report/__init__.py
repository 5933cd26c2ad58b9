"""What a person reads of a run in the Prefect UI. Pure.

`view` has a run as data, `page` and `pages` write it.
"""
