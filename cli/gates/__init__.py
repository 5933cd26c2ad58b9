"""The commands `gates list` and `gates check`.

They need no Prefect and no model: the pipeline of `gates` is run on a file.
May be imported by `cli`.
"""
