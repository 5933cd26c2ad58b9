"""Prefect's command line."""

from __future__ import annotations

from prefect.cli import app

if __name__ == "__main__":
    app()
