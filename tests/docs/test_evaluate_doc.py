"""docs/how-to/evaluate.md and its example say what the program does."""

from __future__ import annotations

from docs_pages import ROOT, blocks, page_path, rows, sections
from prefect_swarm.evals.cases import CaseSpec, CasesSpec, Checks

PAGE = page_path("evaluate.md").read_text("utf-8")
PARTS = sections("evaluate.md")


def test_the_cases_in_the_page_are_the_example() -> None:
    assert (ROOT / "examples" / "cases.yaml").read_text("utf-8") in blocks(PAGE, "yaml")


def test_every_key_of_a_case_is_explained() -> None:
    documented = {row[0] for row in rows(PARTS["What a case may have"])}
    assert documented == set(CaseSpec.model_fields)


def test_every_check_is_explained() -> None:
    documented = {row[0] for row in rows(PARTS["Checks"])}
    assert documented == {field.alias or name for name, field in Checks.model_fields.items()}


def test_every_key_of_a_file_is_in_the_page() -> None:
    assert [name for name in CasesSpec.model_fields if f"`{name}`" not in PAGE] == ["cases"]
