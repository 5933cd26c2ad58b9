"""Toolsets by name: what there are, what bounds their calls, and the journal that keeps them.

A toolset is a pydantic-ai one: of an MCP configuration, Python, an entry point, or built in.
`catalogue` finds those of a run, `calling` makes the calls, `journal` keeps what they came to.
"""
