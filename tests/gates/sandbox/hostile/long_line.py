"""Writes one line that does not end."""

import sys

sys.stdout.write("y" * 200_000)
