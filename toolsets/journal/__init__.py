"""The journal of an attempt's calls of tools: what was asked, what is certain, and what is not.

`entries` is pure. A line is written before what it speaks of happens.
May be imported by `toolsets`, `tasks` and `flows`.
"""
