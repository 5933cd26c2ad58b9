"""Has a server in the midst of a call, and tells its process id: `killed_mcp_user.py TOOL`."""

from __future__ import annotations

import asyncio
import signal
import sys

from prefect_swarm.toolsets.mcp.owner import owned
from raw_servers import raw_server


async def main(tool: str) -> None:
    async with owned(raw_server(), 4) as server:
        sys.stdout.write(f"{await server.call('pid', {}, 60)}\n")
        sys.stdout.flush()
        await server.call(tool, {}, 3600)


if __name__ == "__main__":
    # What a script starts in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asyncio.run(main(sys.argv[1]))
