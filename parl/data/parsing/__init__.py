"""Pattern and word files as data, with each mistake named by its line. Pure.

May be imported by `parl.data`.
"""
