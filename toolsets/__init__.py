"""Toolsets by name: what there are, what bounds their calls, and the journal that keeps them.

A toolset is a pydantic-ai one. It comes from an MCP configuration, from Python, from an entry
point, or is built in. `catalogue` finds those of a run, `calling` makes the calls, `journal` keeps
what they came to. Imports nothing above the memory.
"""
