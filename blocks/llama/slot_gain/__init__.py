"""How many requests this machine gains from computing at once: measured once, and kept.

`timing` measures, `worth` decides (pure), `kept` stores the result for later processes.
May be imported by `blocks.llama` and `cli`.
"""
