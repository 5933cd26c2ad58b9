"""What attempts at a step belong to."""

from __future__ import annotations

from uuid import uuid4

import pytest


@pytest.fixture
def run_id() -> str:
    """The id of a flow run of its own."""
    return str(uuid4())
