"""Kinds of files by their bytes, and messages about those that are not text."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdf_files import encrypted_pdf, pdf_of
from picture_files import picture_bytes, scanned_pdf
from prefect_swarm.errors import InputError
from prefect_swarm.host.bounded_work import pdf_pages
from prefect_swarm.inputs import contents as pdf
from prefect_swarm.inputs.contents import (
    MAX_TEXT_BYTES,
    InputKind,
    check_total,
    kind_of,
    text_of,
    texts_of,
)
from prefect_swarm.inputs.pictures import (
    MAX_PICTURES_BYTES,
    MAX_SIDE,
    picture_of,
    pictures_in,
    without_pictures,
)

TEXTS = st.text(st.characters(exclude_characters="\0\r\ufeff", codec="utf-8"), min_size=1)


def problem(data: bytes, name: str) -> str:
    with pytest.raises(InputError) as caught:
        text_of(data, name)
    assert caught.value.fix
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("notes.txt", "text"),
        ("README", "text"),
        ("a/b.MD", "Markdown"),
        ("sales.csv", "CSV"),
        ("sales.tsv", "CSV"),
        ("data.json", "JSON"),
        ("lines.jsonl", "JSON"),
        ("paper.PDF", "PDF"),
    ],
)
def test_a_name_says_what_kind_a_file_is(name: str, kind: InputKind) -> None:
    assert kind_of(name) == kind


@given(TEXTS)
def test_a_text_is_read_as_it_stands(text: str) -> None:
    if text.strip():
        assert text_of(text.encode(), "a.txt") == text


@given(TEXTS, st.sampled_from(["a.csv", "a.md", "a"]), st.integers(0, 200))
def test_what_is_no_utf8_is_an_error_whatever_it_is_called(
    text: str, name: str, place: int
) -> None:
    data = text.encode()
    data = data[:place] + b"\xff" + data[place:]
    assert "input" in problem(data, name)


@given(st.binary(max_size=300), st.sampled_from(["a.txt", "a.json", "a.jsonl", "a.csv"]))
def test_any_bytes_are_a_text_or_an_input_error(data: bytes, name: str) -> None:
    with suppress(InputError):
        assert text_of(data, name).strip()


def test_an_empty_file_is_an_error() -> None:
    assert problem(b"", "a.txt") == "The input a.txt is empty. Leave it out."
    assert "nothing but blanks" in problem(b" \n", "a.txt")


def test_a_csv_in_another_encoding_is_named_with_byte_and_line() -> None:
    found = problem("name;town\nAda;Zürich\n".encode("latin-1"), "people.csv")
    assert "input people.csv can't be read as UTF-8: byte 16 is 0xfc, in line 2." in found
    assert "iconv -f LATIN1" in found
    assert "iconv -f UTF-16" in problem("a;b\n".encode("utf-16"), "people.csv")


def test_a_mark_before_a_csv_and_its_line_ends_do_not_count() -> None:
    assert text_of(b"\xef\xbb\xbfa,b\r\n1,2\r\n", "a.csv") == "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("a.ods", "as CSV"),
        ("a.odt", "as PDF or as text"),
        ("a.heic", "as PNG or JPEG"),
        ("a.bin", "Give text, Markdown, CSV"),
    ],
)
def test_a_binary_file_is_an_error_that_says_what_to_give(name: str, advice: str) -> None:
    assert advice in problem(b"PK\x03\x04\0\0", name)


def test_json_that_does_not_parse_is_an_error_with_line_and_column() -> None:
    assert "line 2, column 5" in problem(b'{"a": 1,\n"b" 2}', "a.json")
    assert "line 2, column 2" in problem(b"{}\n{", "a.jsonl")
    assert "is not JSON" in problem(b"[" * 100_000, "a.json")


def test_json_is_kept_as_it_stands() -> None:
    text = json.dumps({"a": [1, 2]}, indent=3)
    assert text_of(text.encode(), "a.json") == text
    assert text_of(b"{}\n\n[1]\n", "a.jsonl") == "{}\n\n[1]\n"


def test_a_pdf_is_its_text_page_by_page() -> None:
    text = text_of(pdf_of("Hello", "", "World"), "a.pdf")
    assert text == "[page 1]\nHello\n\n[page 2]\n(no text)\n\n[page 3]\nWorld"


def test_a_pdf_is_known_by_its_beginning() -> None:
    assert "Hello" in text_of(pdf_of("Hello"), "download")


def test_a_pdf_without_text_is_an_error() -> None:
    assert "has no text: its 2 page(s)" in problem(pdf_of("", ""), "scan.pdf")


def test_a_pdf_with_a_password_is_an_error() -> None:
    assert "is encrypted" in problem(encrypted_pdf("Hello", "secret"), "a.pdf")


def test_a_pdf_that_opens_without_a_password_is_read() -> None:
    assert "Hello" in text_of(encrypted_pdf("Hello", ""), "a.pdf")


@pytest.mark.parametrize("data", [b"%PDF-1.4\n", b"no pdf", pdf_of("Hello")[:200]])
def test_a_damaged_pdf_is_an_error(data: bytes) -> None:
    assert "can't be read as a PDF" in problem(data, "a.pdf")


@given(st.integers(0, 700), st.binary(min_size=1, max_size=20))
def test_a_pdf_with_other_bytes_in_it_has_pages_or_a_fault(place: int, noise: bytes) -> None:
    data = pdf_of("Hello")
    found = pdf_pages(data[:place] + noise + data[place + len(noise) :], 9)
    assert found.keys() <= {"pages", "damaged", "encrypted"}


def test_a_pdf_with_too_many_pages_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_PAGES", 2)
    assert "has 3 pages" in problem(pdf_of("a", "b", "c"), "a.pdf")


def test_a_page_of_a_pdf_without_text_is_a_picture() -> None:
    text = texts_of(scanned_pdf("red", "blue"), "a.pdf")[""]
    red, blue = pictures_in(text)
    assert max(red.width, red.height, blue.width, blue.height) <= MAX_SIDE
    assert without_pictures(text) == f"[page 1]\n{red.label}\n\n[page 2]\n{blue.label}"


def test_a_page_with_text_stays_a_text_beside_one_without() -> None:
    text = texts_of(pdf_of("Hello", ""), "a.pdf")[""]
    assert text.startswith("[page 1]\nHello\n\n[page 2]\ndata:image/")


def test_a_page_with_nothing_on_it_is_no_picture() -> None:
    text = texts_of(scanned_pdf("red", "white"), "a.pdf")[""]
    assert len(pictures_in(text)) == 1
    assert text.endswith("[page 2]\n(no text)")
    with pytest.raises(InputError, match="is blank"):
        texts_of(scanned_pdf("white"), "a.pdf")


def test_too_many_pages_without_text_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_PICTURES", 1)
    with pytest.raises(InputError, match="2 pages without text, and at most 1"):
        texts_of(scanned_pdf("red", "blue"), "a.pdf")


def test_a_picture_is_known_by_its_bytes_whatever_it_is_called() -> None:
    for name in ("a.png", "photo.txt", "data.csv", "noname"):
        assert picture_of(texts_of(picture_bytes("JPEG"), name)[""]) is not None


def test_where_text_alone_is_wanted_a_picture_is_its_label() -> None:
    assert text_of(picture_bytes("JPEG"), "a.jpg").startswith("[picture: JPEG, 40 × 20 pixels,")


def test_more_pictures_than_a_run_may_have_are_refused() -> None:
    check_total(MAX_TEXT_BYTES, MAX_PICTURES_BYTES)
    with pytest.raises(InputError, match="of pictures"):
        check_total(0, MAX_PICTURES_BYTES + 1)
