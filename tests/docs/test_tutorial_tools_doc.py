"""The tutorial on tools by MCP shows the files of the example; its session is typed elsewhere."""

from __future__ import annotations

from docs_pages import ROOT, blocks, page_path

EXAMPLE = ROOT / "examples" / "tools"
PAGE = page_path("mcp_tools.md").read_text("utf-8")


def test_the_files_are_those_of_the_example() -> None:
    names = ("tools.json", "plan.json", "acting.json")
    assert blocks(PAGE, "json") == [(EXAMPLE / name).read_text("utf-8") for name in names]
