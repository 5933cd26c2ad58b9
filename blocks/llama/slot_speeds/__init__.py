"""How fast this machine writes several texts at once: one measured table a model file.

`table` is what is stored, `timing` measures, `measuring` says when. What follows from a table is
decided in `blocks/llama/sizing.py`.
"""
