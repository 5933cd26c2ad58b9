"""Toolsets of MCP servers: their configuration, and the task that owns each of them.

`configuration` and `described` are pure; one owner task a server opens and closes its session.
"""
