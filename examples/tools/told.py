"""A server that prints what a webhook tells it: `python told.py`."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Told(BaseHTTPRequestHandler):
    """Prints the text of each request."""

    def do_POST(self) -> None:
        """Take one."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print(body["event"], "-", body["text"], flush=True)  # noqa: T201 - it is what it does
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Log nothing else."""


if __name__ == "__main__":
    print("http://127.0.0.1:8766/", flush=True)  # noqa: T201 - as above
    ThreadingHTTPServer(("127.0.0.1", 8766), Told).serve_forever()
