"""MCP servers as sources of toolsets: one server is one toolset, by the server's name."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..limits import ToolLimits
from ..source import Toolset, ToolsetUse
from .configuration import McpEndpoint
from .toolset import McpToolset

__all__ = ["McpSource"]


@dataclass(frozen=True, slots=True)
class McpSource:
    """A server of a configuration."""

    endpoint: McpEndpoint
    limits: ToolLimits = field(default_factory=ToolLimits)

    @property
    def name(self) -> str:
        """The server's name."""
        return self.endpoint.name

    @property
    def about(self) -> str:
        """What its configuration says of it; "" if only its tools can say."""
        return self.endpoint.about

    @property
    def server(self) -> str:
        """The server's name: calls of all agents are bounded together."""
        return self.endpoint.name

    def toolset(self, use: ToolsetUse) -> Toolset:  # noqa: ARG002 - the same for all
        """Return a toolset that shares the server with all others of this event loop."""
        return McpToolset(self.endpoint, self.limits)
