"""A PDF takes so much time, memory and room, and no more: another process reads it."""

from __future__ import annotations

import zlib

import pytest
from pdf_files import pdf_of
from prefect_swarm.errors import InputError
from prefect_swarm.host.bounded import ProcessBounds
from prefect_swarm.host.bounded_work import pdf_pages
from prefect_swarm.inputs.contents import pdf_text

SHORT = ProcessBounds(1.0, memory_bytes=512 << 20, answer_bytes=1 << 20)


def problem(data: bytes, bounds: ProcessBounds = SHORT) -> str:
    with pytest.raises(InputError) as caught:
        pdf_text(data, "input a.pdf", bounds)
    assert "input a.pdf" in caught.value.problem
    assert caught.value.fix
    return caught.value.problem


def with_page(drawn: bytes, page: str = "", more: str = "") -> bytes:
    """A PDF of one page that draws something, which may be packed."""
    head = f"/Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 5 0 R {page}"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< {head} /Resources << /Font << /F1 3 0 R >> >> >>".encode(),
        f"<< /Length {len(drawn)} {more} >>\nstream\n".encode() + drawn + b"\nendstream",
    ]
    written, places = b"%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, 1):
        places.append(len(written))
        written += b"%d 0 obj\n" % number + content + b"\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    end = f"xref\n0 6\n0000000000 65535 f \n{table}trailer\n<< /Size 6 /Root 1 0 R >>\n"
    return written + f"{end}startxref\n{len(written)}\n%%EOF\n".encode()


@pytest.mark.attack("parsers")
def test_a_page_that_takes_for_ever_is_ended() -> None:
    assert "takes more than 1 s" in problem(with_page(b"BT /F1 12 Tf (a) Tj ET\n" * 200_000))


@pytest.mark.attack("parsers")
def test_a_page_that_unpacks_to_gigabytes_is_refused() -> None:
    packed = zlib.compress(b"BT (a) Tj ET\n" * 20_000_000, 1)
    bounds = ProcessBounds(5.0, memory_bytes=400 << 20)
    assert "can't be read as a PDF" in problem(
        with_page(packed, more="/Filter /FlateDecode"), bounds
    )


@pytest.mark.attack("parsers")
def test_too_much_text_is_refused() -> None:
    data = with_page(b"BT /F1 9 Tf (" + b"a" * 100_000 + b") Tj ET")
    small = ProcessBounds(20.0, answer_bytes=1 << 16)
    assert "it gives more than" in problem(data, small)


@pytest.mark.attack("parsers")
def test_a_hundred_thousand_pages_are_refused() -> None:
    kids = b" ".join([b"4 0 R"] * 100_000)
    data = with_page(b"").replace(b"/Kids [4 0 R] /Count 1", b"/Kids [" + kids + b"] /Count 100000")
    assert problem(data, ProcessBounds(20.0))


def changed(old: bytes, new: bytes) -> bytes:
    data = pdf_of("Hello")
    assert old in data
    return data.replace(old, new, 1)


LOOPS = {
    "pages that have themselves": changed(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),
    "a page that is its own parent": changed(b"/Parent 2 0 R", b"/Parent 4 0 R"),
    "a table of places that is its own past": changed(b"/Size 6", b"/Size 6 /Prev 9"),
    "a length that is the stream": changed(b"/Length ", b"/Length 5 0 R %"),
    "a catalogue that is a page": changed(b"/Root 1 0 R", b"/Root 4 0 R"),
    "a trillion objects": changed(b"xref\n0 6", b"xref\n0 999999999999"),
    "a place beyond the file": changed(b"startxref\n", b"startxref\n99999999"),
    "lists in lists": changed(b"[0 0 612 792]", b"[" * 20_000 + b"]" * 20_000),
    "a number without end": changed(b"612", b"6" * 50_000),
    "an array of widths without end": changed(b"/MediaBox", b"/W [0 999999999 1] /MediaBox"),
}


@pytest.mark.parametrize("data", LOOPS.values(), ids=LOOPS)
@pytest.mark.attack("parsers")
def test_what_leads_back_to_itself_is_a_fault_or_a_text(data: bytes) -> None:
    assert pdf_pages(data, 9).keys() & {"pages", "damaged"}
