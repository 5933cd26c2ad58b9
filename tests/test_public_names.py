"""What the package offers by name."""

from __future__ import annotations

import subprocess
import sys

import prefect_swarm
import pytest


@pytest.mark.parametrize("name", prefect_swarm.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(prefect_swarm, name).__name__ == name or name in ("swarm", "swarm_batch")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'swam'"):
        prefect_swarm.swam  # noqa: B018 # pyright: ignore[reportAttributeAccessIssue]


def test_importing_the_package_does_not_import_prefect() -> None:
    code = "import sys, prefect_swarm; sys.exit('prefect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
