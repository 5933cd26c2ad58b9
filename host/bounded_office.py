"""Runs in a process of its own: what office programs wrote becomes Markdown and CSV.

It knows nothing of this package: bytes come in, and JSON goes out: `parts`, pairs of a name and a
text, or what is wrong. A sheet is a part of its own; all else is one part without a name. Its
argument names the kind: `docx`, `pptx`, `xlsx`, `html` or `epub`.
"""

from __future__ import annotations

import csv
import datetime
import importlib
import io
import json
import os
import posixpath
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import unquote

__all__ = ["parts_of"]


Parts = list[tuple[str, str]]

_MOST_BYTES = 256 << 20
"""Bytes that an archive may unpack to; what is read of it takes several times as much memory."""
_MOST_CELLS = 2_000_000
"""Cells of a workbook, empty ones among them: one cell far away makes a sheet enormous."""


def parts_of(kind: str, data: bytes) -> dict[str, Any]:
    """Return the parts of a file, or what is wrong with it."""
    try:
        if kind != "html" and (problem := _archive_problem(data)):
            return problem
        return {"parts": _READERS[kind](data)}
    except MemoryError:
        os._exit(3)
    except ModuleNotFoundError as error:
        return {"missing": error.name or str(error)}
    except Exception as error:  # noqa: BLE001 - what a damaged file leads to has many types
        return {"damaged": " ".join(str(error).split())[:200] or type(error).__name__}


def _archive_problem(data: bytes) -> dict[str, Any]:
    # An office file with a password is no archive, but a file of the older format around one.
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return {"encrypted": True}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        unpacked = sum(entry.file_size for entry in archive.infolist())
        if any(entry.flag_bits & 1 for entry in archive.infolist()):
            return {"encrypted": True}
    return {"unpacked": unpacked} if unpacked > _MOST_BYTES else {}


def _docx(data: bytes) -> Parts:
    mammoth: Any = importlib.import_module("mammoth")
    # Pictures stay out: their data would stand in the text.
    without = mammoth.images.img_element(_no_picture)
    found: Any = mammoth.convert_to_html(io.BytesIO(data), convert_image=without)
    return [("", _markdown(found.value))]


def _no_picture(_: object) -> dict[str, str]:
    return {"src": ""}


def _html(data: bytes) -> Parts:
    return [("", _markdown(data))]


def _markdown(html: str | bytes) -> str:
    """Write a page as Markdown, without its scripts, styles and pictures."""
    import warnings

    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    warnings.simplefilter("ignore")
    soup = BeautifulSoup(html, "html.parser")
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    for tag in soup(["title", "script", "style", "noscript", "template", "svg", "iframe"]):
        tag.decompose()
    body: Any = soup.body or soup
    converter: Any = MarkdownConverter(
        heading_style="ATX", bullets="-", strip=["img"], table_infer_header=True
    )
    lines = str(converter.convert_soup(body)).split("\n")
    text = "\n".join(line.rstrip(" \t") for line in lines)
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    has_heading = bool(re.match(r"#+ ", text))
    return f"# {title}\n\n{text}" if title and not has_heading else text


def _pptx(data: bytes) -> Parts:
    import pptx

    shown: Any = pptx.Presentation(io.BytesIO(data))
    slides: list[str] = []
    for number, slide in enumerate(shown.slides, 1):
        title = slide.shapes.title
        lines = [f"[slide {number}]"]
        if title is not None and title.text.strip():
            lines.append(f"# {' '.join(title.text.split())}")
        taken = None if title is None else title.shape_id
        lines += [
            text
            for shape in _shapes(slide.shapes)
            if shape.shape_id != taken
            for text in _shape_texts(shape)
        ]
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None and notes.text.strip():
            lines.append(f"Notes: {notes.text.strip()}")
        slides.append("\n\n".join(lines))
    return [("", "\n\n".join(slides))]


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield shapes as they are read, those of groups among them."""
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _shape_texts(shape: Any) -> Iterator[str]:
    if getattr(shape, "has_table", False):
        rows = [[cell.text for cell in row.cells] for row in shape.table.rows]
        yield _table(rows)
    elif getattr(shape, "has_chart", False):
        # A chart's data has cells that are no numbers, which the library doesn't read.
        try:
            yield _chart(shape.chart)
        except (ValueError, TypeError, AttributeError, KeyError):
            yield "[chart]"
    elif getattr(shape, "has_text_frame", False):
        paragraphs = [
            f"{'  ' * paragraph.level}- {text}" if paragraph.level else text
            for paragraph in shape.text_frame.paragraphs
            if (text := paragraph.text.strip())
        ]
        if paragraphs:
            yield "\n".join(paragraphs)


def _chart(chart: Any) -> str:
    plot = chart.plots[0]
    categories = [str(category) for category in plot.categories]
    names = [str(series.name) for series in plot.series]
    columns = [list(series.values) for series in plot.series]
    rows = [["", *names]]
    for number, category in enumerate(categories):
        values = [column[number] if number < len(column) else None for column in columns]
        rows.append([category, *("" if value is None else str(value) for value in values)])
    return f"[chart]\n{_table(rows)}"


def _table(rows: list[list[str]]) -> str:
    """Write rows as a Markdown table, the first one as its head."""
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in row] for row in rows]
    lines = [f"| {' | '.join(row)} |" for row in cells]
    if lines:
        lines.insert(1, f"|{' --- |' * len(cells[0])}")
    return "\n".join(lines)


def _xlsx(data: bytes) -> Parts:
    import openpyxl

    # What formulas came to when the file was saved: models can't compute them. A program that
    # computes nothing saves none of that; its formulas stand for themselves.
    book: Any = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    formulas: Any = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    parts: Parts = []
    cells = 0
    for sheet, written in zip(book.worksheets, formulas.worksheets, strict=True):
        rows: list[list[str]] = []
        # What a file says of a sheet's size may be wrong.
        sheet.reset_dimensions()
        written.reset_dimensions()
        both = zip(
            sheet.iter_rows(values_only=True), written.iter_rows(values_only=True), strict=True
        )
        for row, own in both:
            cells += len(row) + 1
            if cells > _MOST_CELLS:
                raise ValueError(f"it has more than {_MOST_CELLS:,} cells")
            rows.append([_cell(value, formula) for value, formula in zip(row, own, strict=True)])
        if text := _csv(rows):
            parts.append((sheet.title, text))
    return parts


def _cell(value: Any, formula: Any) -> str:
    shown = formula if value is None else value
    match shown:
        case None:
            return ""
        case bool():
            return "true" if shown else "false"
        case float() if shown.is_integer() and abs(shown) < 1e15:
            return str(int(shown))
        case datetime.datetime() if shown.time() == datetime.time():
            return shown.date().isoformat()
        case datetime.datetime() | datetime.date() | datetime.time():
            return shown.isoformat()
        case _:
            return str(shown)


def _csv(rows: list[list[str]]) -> str:
    """Write rows as CSV, without empty rows and columns at the end; "" where nothing is there."""
    while rows and not any(rows[-1]):
        rows.pop()
    width = max((n for row in rows for n, cell in enumerate(row, 1) if cell.strip()), default=0)
    if not width:
        return ""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    for row in rows:
        writer.writerow([*row[:width], *[""] * (width - len(row))])
    return written.getvalue()


def _epub(data: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        chapters = [_markdown(archive.read(name)) for name in _chapters(archive)]
    return [("", "\n\n".join(filter(None, chapters)))]


def _chapters(archive: zipfile.ZipFile) -> list[str]:
    """Return the names of a book's chapters, in their order."""
    container = _soup(archive.read("META-INF/container.xml"))
    package = str(container.find("rootfile")["full-path"])
    book = _soup(archive.read(package))
    items = {item["id"]: item["href"] for item in book.find_all("item") if item.get("href")}
    folder, names = posixpath.dirname(package), frozenset(archive.namelist())
    hrefs = (items.get(entry.get("idref"), "") for entry in book.find_all("itemref"))
    paths = (posixpath.normpath(posixpath.join(folder, unquote(href))) for href in hrefs if href)
    return [path for path in paths if path in names]


def _soup(data: bytes) -> Any:
    import warnings

    from bs4 import BeautifulSoup

    warnings.simplefilter("ignore")
    return BeautifulSoup(data, "html.parser")


_READERS: dict[str, Callable[[bytes], Parts]] = {
    "docx": _docx,
    "pptx": _pptx,
    "xlsx": _xlsx,
    "html": _html,
    "epub": _epub,
}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(parts_of(sys.argv[1], sys.stdin.buffer.read())))
