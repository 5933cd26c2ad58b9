"""Toolsets by name: sources, bounds on calls, and the journal.

A toolset is a pydantic-ai one: of an MCP configuration, Python, an entry point, or built in.
`catalogue` finds those of a run, `calls` makes the calls, `journal` stores them.
"""
