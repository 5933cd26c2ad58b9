"""Toolsets of MCP servers: configuration, sessions, and the task that owns each server.

`configuration` and `written` are pure; one owner task a server opens and closes its session.
"""
