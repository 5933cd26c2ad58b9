"""The tutorial on a repeatable run has the files of the example; its session is typed elsewhere."""

from __future__ import annotations

from docs_pages import ROOT, blocks, page_path

EXAMPLE = ROOT / "examples" / "ledger"
PAGE = page_path("repeatable.md").read_text("utf-8")


def test_the_files_are_those_of_the_example() -> None:
    assert blocks(PAGE, "python") == [(EXAMPLE / "ledger_server.py").read_text("utf-8")]
    names = ("ledger.json", "plan.json")
    assert blocks(PAGE, "json") == [(EXAMPLE / name).read_text("utf-8") for name in names]
