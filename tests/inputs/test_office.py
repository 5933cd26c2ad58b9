"""What office programs write becomes Markdown, and each sheet of a workbook a CSV."""

from __future__ import annotations

import datetime
import io
import sys
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from office_files import archive_of, book_of, docx_of, epub_of, slides_of
from prefect_swarm.errors import InputError
from prefect_swarm.host import bounded_office
from prefect_swarm.host.bounded import ProcessBounds
from prefect_swarm.inputs.contents import text_of, texts_of
from prefect_swarm.inputs.office import office_texts
from prefect_swarm.inputs.reading import read_inputs, read_paths
from prefect_swarm.plan.items import rows_of


def problem(data: bytes, name: str) -> str:
    with pytest.raises(InputError) as caught:
        texts_of(data, name)
    assert caught.value.fix
    assert name in caught.value.problem
    return str(caught.value)


def test_a_document_is_markdown() -> None:
    table = "".join(
        f"<w:tr>{''.join(f'<w:tc><w:p><w:r><w:t>{cell}</w:t></w:r></w:p></w:tc>' for cell in row)}"
        "</w:tr>"
        for row in (("Part", "Price"), ("Bolt", "3"))
    )
    data = docx_of("The first.", heading="Report", xml=f"<w:tbl>{table}</w:tbl>")
    text = texts_of(data, "a.docx")[""]
    assert text.startswith("# Report\n\nThe first.")
    assert "| Part | Price |" in text
    assert "| Bolt | 3 |" in text


def test_slides_are_markdown_with_their_numbers_and_notes() -> None:
    data = slides_of(("Hello", "one\ntwo", "say it slowly"), ("Bye", "three", ""))
    assert texts_of(data, "a.pptx")[""] == (
        "[slide 1]\n\n# Hello\n\none\ntwo\n\nNotes: say it slowly\n\n[slide 2]\n\n# Bye\n\nthree"
    )


def test_each_sheet_is_an_input_with_rows(tmp_path: Path) -> None:
    day = datetime.datetime(2026, 3, 1)
    sales = [["day", "eur", "paid"], [day, 3.0, True], [None, 2.5, False]]
    (tmp_path / "book.xlsx").write_bytes(book_of(Sales=sales, Empty=[], Costs=[["a,b"]]))
    texts = read_paths([tmp_path / "book.xlsx"])
    assert texts == {
        "book.xlsx/Sales.csv": "day,eur,paid\n2026-03-01,3,true\n,2.5,false\n",
        "book.xlsx/Costs.csv": '"a,b"\n',
    }
    rows = rows_of("book.xlsx/Sales.csv", texts["book.xlsx/Sales.csv"], "")
    assert rows[0] == {"day": "2026-03-01", "eur": "3", "paid": "true"}


def test_a_name_of_its_own_stands_before_the_sheets(tmp_path: Path) -> None:
    (tmp_path / "book.xlsx").write_bytes(book_of(One=[["x"]]))
    assert read_inputs({"costs": tmp_path / "book.xlsx"}) == {"costs/One.csv": "x\n"}


def test_a_formula_that_nobody_computed_stands_for_itself() -> None:
    data = book_of(One=[["x", "=1+1"]])
    assert texts_of(data, "a.xlsx") == {"One": "x,=1+1\n"}


def test_a_page_is_markdown_without_its_scripts() -> None:
    page = b"<title>Nile</title><script>let x</script><p>It is <b>long</b>.</p><ul><li>a</li></ul>"
    assert texts_of(page, "a.html")[""] == "# Nile\n\nIt is **long**.\n\n- a"


def test_a_book_has_its_chapters_in_their_order() -> None:
    data = epub_of("<h1>One</h1><p>first</p>", "<h1>Two</h1>")
    assert texts_of(data, "a.epub")[""] == "# One\n\nfirst\n\n# Two"


def test_a_document_that_is_searched_has_its_sheets_in_one_text() -> None:
    data = book_of(One=[["x"]], Two=[["y"]])
    assert text_of(data, "a.xlsx") == "[sheet One]\nx\n\n\n[sheet Two]\ny\n"


def test_a_text_that_is_called_like_one_is_a_text() -> None:
    assert texts_of(b"plain words", "a.docx") == {"": "plain words"}


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_what_is_damaged_is_an_error_that_names_it(name: str) -> None:
    assert "can't be read as" in problem(b"PK\x03\x04 and nothing more", name)
    assert "can't be read as" in problem(archive_of({"a": "b"}), name)


def test_a_password_is_an_error_that_says_so() -> None:
    assert "has a password" in problem(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "a.docx")


def test_nothing_to_read_is_an_error() -> None:
    assert "has no text" in problem(book_of(One=[]), "a.xlsx")


@pytest.mark.attack("parsers")
def test_what_unpacks_to_gigabytes_is_refused() -> None:
    data = archive_of({"word/document.xml": b" " * (300 << 20)})
    assert "unpacks to 300.0 MiB" in problem(data, "a.docx")


@pytest.mark.attack("parsers")
def test_what_computes_for_ever_is_ended() -> None:
    page = b"<div>" * 200_000
    with pytest.raises(InputError, match="can't be read as HTML"):
        office_texts(page, "html", "input a.html", ProcessBounds(1.0))


@pytest.mark.attack("parsers")
def test_a_document_reads_no_other_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"\x89PNG\r\n\x1a\nsecret")
    entity = f'<!DOCTYPE w [<!ENTITY x SYSTEM "{secret.as_uri()}">]>'
    with zipfile.ZipFile(io.BytesIO(docx_of("MARK"))) as archive:
        files = {name: archive.read(name).decode() for name in archive.namelist()}
    files["word/document.xml"] = entity + files["word/document.xml"].replace("MARK", "&x;")
    with suppress(InputError):
        assert "secret" not in texts_of(archive_of(files), "a.docx")[""]


def test_a_file_whose_packages_are_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert bounded_office.parts_of("xlsx", book_of(One=[["x"]])) == {"missing": "openpyxl"}
