"""Toolsets of MCP servers: their configuration, and the task that owns each of them."""
