"""Small files as office programs write them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import openpyxl
import pptx

__all__ = ["archive_of", "book_of", "docx_of", "epub_of", "slides_of"]

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def archive_of(files: Mapping[str, str | bytes]) -> bytes:
    """Return a ZIP archive with these files."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return written.getvalue()


def docx_of(*paragraphs: str, heading: str = "", xml: str = "") -> bytes:
    """Return a document with a heading, paragraphs, and whatever else is given as XML."""
    head = (
        f'<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>{heading}</w:t></w:r></w:p>'
        if heading
        else ""
    )
    texts = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    return archive_of(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            f'<Override PartName="/word/document.xml" ContentType="{_TYPE}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship '
            f'Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/styles.xml": f'<w:styles xmlns:w="{_WORD}"><w:style w:type="paragraph" '
            'w:styleId="Heading1"><w:name w:val="heading 1"/></w:style></w:styles>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">'
            f'<Relationship Id="r1" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
            "word/document.xml": f'<w:document xmlns:w="{_WORD}"><w:body>{head}{texts}{xml}'
            "</w:body></w:document>",
        }
    )


def book_of(**sheets: Sequence[Sequence[object]]) -> bytes:
    """Return a workbook with these sheets, row by row."""
    book: Any = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    written = io.BytesIO()
    book.save(written)
    return written.getvalue()


def slides_of(*slides: tuple[str, str, str]) -> bytes:
    """Return slides, each with a title, a text and notes."""
    shown: Any = pptx.Presentation()
    for title, text, notes in slides:
        slide = shown.slides.add_slide(shown.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    written = io.BytesIO()
    shown.save(written)
    return written.getvalue()


def epub_of(*chapters: str) -> bytes:
    """Return a book with these chapters, as HTML; their files are in another order."""
    items = [
        f'<item id="c{n}" href="text/{n:02}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(len(chapters))
    ]
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    files: dict[str, str | bytes] = {
        f"OEBPS/text/{n:02}.xhtml": f"<html><body>{text}</body></html>"
        for n, text in reversed(list(enumerate(chapters)))
    }
    return archive_of(
        {
            "mimetype": "application/epub+zip",
            **files,
            "META-INF/container.xml": '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/>'
            "</rootfiles></container>",
            "OEBPS/book.opf": f"<package><manifest>{''.join(reversed(items))}</manifest>"
            f"<spine>{spine}</spine></package>",
        }
    )
