"""Public names of the package."""

from __future__ import annotations

import subprocess
import sys

import prefect_swarm
import pytest
from prefect import Flow


@pytest.mark.parametrize("name", prefect_swarm.__all__)
def test_every_public_name_is_there(name: str) -> None:
    found = getattr(prefect_swarm, name)
    # A flow is an object of Prefect's: it is named after its function in another spelling.
    defined = found.fn if isinstance(found, Flow) else found
    assert defined.__name__ == name.removesuffix("_flow")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'swam'"):
        prefect_swarm.swam  # noqa: B018 # pyright: ignore[reportAttributeAccessIssue]


def test_importing_the_package_does_not_import_prefect() -> None:
    code = "import sys, prefect_swarm; sys.exit('prefect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_imports_no_library_that_only_some_runs_need() -> None:
    code = "import sys, prefect_swarm.flows.swarm; print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    some = {"fastmcp", "mcp", "openai", "sqlalchemy", "llama_cpp", "faiss", "kuzu", "distributed"}
    assert some & set(done.stdout.split()) == set()
