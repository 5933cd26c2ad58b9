"""docs/reference/gates.md names the gates there are, and what each kind of output gets."""

from __future__ import annotations

import re

from docs_pages import rows, sections
from prefect_swarm.gates import DEFAULT_GATES, STAGES, gates

PARTS = sections("gates.md")


def named(cell: str) -> list[str]:
    # The first and the last have lost their backquotes with the cell's own.
    return re.findall(r"`([a-z-]+)`", f"`{cell}`")


def test_every_gate_of_the_package_is_explained_once() -> None:
    own = {name for name, gate in gates().items() if type(gate).__module__.startswith("prefect_")}
    assert sorted(row[0] for row in rows(PARTS["The gates"])) == sorted(own)


def test_every_gate_stands_in_its_stage() -> None:
    stages = {row[0]: set(named(row[1])) for row in rows(PARTS["The pipeline"]) if row[0] in STAGES}
    assert [*stages] == [*STAGES]
    for name, gate in gates().items():
        if type(gate).__module__.startswith("prefect_"):
            assert name in stages[gate.stage]


def test_every_kind_has_the_gates_that_the_page_says() -> None:
    documented = {
        row[0]: named(row[1]) for row in rows(PARTS["The pipeline"]) if row[0] in DEFAULT_GATES
    }
    assert {kind: sorted(names) for kind, names in documented.items()} == {
        kind: sorted(names) for kind, names in DEFAULT_GATES.items()
    }
