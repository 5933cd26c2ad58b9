"""Logins by OAuth at MCP servers: a person makes one, and later processes use and renew it.

`login` waits for a person; `logins` asks nobody anything.
May be imported by `toolsets` and `cli`.
"""
