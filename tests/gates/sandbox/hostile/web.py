"""Asks the stand-in of the Prefect API."""

import urllib.request

from attempt import outside, refused

refused(
    lambda: urllib.request.urlopen(f"http://127.0.0.1:{outside['port']}/api/health", timeout=2),
)
