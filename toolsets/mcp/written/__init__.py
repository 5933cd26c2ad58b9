"""How programs write down MCP servers: their JSON, their forms and the names of servers.

All of it is pure, and reads no file.
May be imported by `toolsets`.
"""
