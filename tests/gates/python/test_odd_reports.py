"""Reports are readable even if a call's value or error is not Unicode."""

from __future__ import annotations

import asyncio

import pytest
from prefect_swarm.gates.python.run import Calls, run_jobs

CODE = r"""
import os
def gives():
    return "\udcff"
def raises():
    open(b"a\xff.txt", "w").close()
    raise ValueError(os.listdir(".")[0] + "\udcff")
"""


@pytest.mark.attack("parsers")
def test_half_of_a_character_spoils_no_report() -> None:
    job = Calls(("m",), ("gives()", "raises()"))
    report = asyncio.run(run_jobs({"m.py": CODE}, [job]))
    assert report.results is not None
    assert report.results[0].done
