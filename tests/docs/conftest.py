"""The program of the tutorials that stands in for a model."""

from __future__ import annotations

import os
import runpy
import sysconfig
import threading
from collections.abc import Generator
from http.server import ThreadingHTTPServer

import pytest
from docs_pages import ROOT


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """The program that pretends to be a model, at any free port; yields the model's name."""
    # Where packages put their commands, as in an environment that is activated.
    monkeypatch.setenv("PATH", f"{sysconfig.get_path('scripts')}{os.pathsep}{os.environ['PATH']}")
    program = ROOT / "examples" / "tools" / "pretend_model.py"
    handler = runpy.run_path(str(program))["Model"]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"openai:pretend@http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()
