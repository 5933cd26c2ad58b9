"""A server of OpenAI's chat API that answers each request after a fixed time, in one process.

`model_server.py SECONDS` prints its port, and serves until it is ended. `GET /asked` says how many
requests it had.
"""

from __future__ import annotations

import asyncio
import json
import sys

_HEADER_END = b"\r\n\r\n"
_ANSWER = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "fixed",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "It is done."},
            }
        ],
        "usage": {"prompt_tokens": 40, "completion_tokens": 4, "total_tokens": 44},
    }
).encode()
_MODEL = {"id": "fixed", "object": "model"}
_LISTED = json.dumps({"object": "list", "data": [_MODEL]}).encode()
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"


async def serve(seconds: float) -> None:
    """Serve at any port that is free."""
    asked = 0

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        try:
            while True:
                head = await reader.readuntil(_HEADER_END)
                if head.startswith(b"GET /asked"):
                    body = str(asked).encode()
                elif head.startswith(b"GET /v1/models/"):
                    body = json.dumps(_MODEL).encode()
                elif head.startswith(b"GET"):
                    body = _LISTED
                else:
                    await reader.readexactly(_length(head))
                    asked += 1
                    await asyncio.sleep(seconds)
                    body = _ANSWER
                writer.write(_HEAD % len(body) + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


def _length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    return 0


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
