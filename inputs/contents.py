"""Inputs: their names, and what a file's bytes say."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any, Literal

from ..errors import InputError
from ..files import decoded
from ..host.bounded import (
    BOUNDED_PICTURES,
    BOUNDED_WORK,
    BoundError,
    ProcessBounds,
    answer_within,
)
from ..text import one_line, size, whole_characters
from .office import office_kind, office_texts
from .pictures import (
    MAX_PICTURES,
    MAX_PICTURES_BYTES,
    MAX_PIXELS,
    MAX_SIDE,
    is_picture,
    made_picture,
    picture_text,
    picture_text_of,
    read_picture,
)

__all__ = [
    "MAX_FILES",
    "MAX_FILE_BYTES",
    "MAX_NAME",
    "MAX_PAGES",
    "MAX_PDF_BYTES",
    "MAX_PDF_S",
    "MAX_TEXT_BYTES",
    "InputKind",
    "advice_for_binary",
    "check_total",
    "input_names",
    "is_json_lines",
    "kind_of",
    "name_problem",
    "named_problem",
    "pdf_text",
    "plain_name",
    "size",
    "text_of",
    "texts_of",
]


MAX_NAME = 80
"""Characters of a name: no more are read where a text cites it."""

# Brackets and commas end a name where a text cites it; control characters and those that set the
# direction of writing would change how it is shown.
_UNSAFE = re.compile(
    r"[\[\],\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Instances have brackets, which no name has.
_STEP = re.compile(r"S[1-9][0-9]*+(?:r[0-9]++)?+(?:\.S[1-9][0-9]*+(?:r[0-9]++)?+)*+")


def name_problem(name: str) -> str:
    """Say why something can't be an input's name, for behind the name; "" if it can."""
    if not name.strip():
        return "is empty"
    if name != name.strip():
        return "begins or ends with a blank"
    if len(name) > MAX_NAME:
        return f"has {len(name)} characters, and {MAX_NAME} are the most"
    if unsafe := _UNSAFE.search(name):
        return f"has {unsafe[0]!r} in it"
    if name.startswith("/") or ".." in PurePath(name).parts:
        return "leads out of a folder"
    return "is what a step may be called" if _STEP.fullmatch(name) else ""


def input_names(paths: Sequence[PurePath], depths: Sequence[int] = ()) -> list[str]:
    """Return a name for each path: its last parts, and more of them where several have that name.

    Args:
        paths: Absolute paths, none of them twice.
        depths: How many parts each name has at least; the file's own name where left out.

    Returns:
        Names that `name_problem` finds nothing wrong with, none of them twice.
    """
    names: dict[str, None] = {}
    for name in _distinct(paths, depths):
        names[plain_name(name, names)] = None
    return [*names]


def plain_name(name: str, taken: Collection[str] = ()) -> str:
    """Return a name that `name_problem` finds nothing wrong with: the end of one that is too long.

    Args:
        name: What it is made of.
        taken: Names that it may not be.
    """
    plain = free = _safe(name)
    number = 2
    while free in taken:
        mark = f" ({number})"
        free = f"{plain[: MAX_NAME - len(mark)].rstrip()}{mark}"
        number += 1
    return free


def _distinct(paths: Sequence[PurePath], depths: Sequence[int]) -> list[str]:
    """Write each path with as many of its last parts as tell it from all others."""
    depth = [*depths] or [1] * len(paths)
    while True:
        names = [_last(path, count) for path, count in zip(paths, depth, strict=True)]
        having = Counter(names)
        again = [
            n
            for n, name in enumerate(names)
            if having[name] > 1 and depth[n] < len(_parts(paths[n]))
        ]
        if not again:
            return names
        for n in again:
            depth[n] += 1


def _parts(path: PurePath) -> tuple[str, ...]:
    return tuple(part for part in path.parts if part not in (path.anchor, "..", "."))


def _last(path: PurePath, count: int) -> str:
    return "/".join(_parts(path)[-count:])


def _safe(name: str) -> str:
    # What tells files apart is at the end: the suffix, and the name before it.
    cleaned = _UNSAFE.sub("_", name)[-MAX_NAME:].strip().lstrip("/").strip()
    if not cleaned or ".." in PurePath(cleaned).parts:
        return "file"
    return f"file {cleaned}"[:MAX_NAME] if _STEP.fullmatch(cleaned) else cleaned


_SHOWN = 300


def named_problem(names: Sequence[str], known: Collection[str]) -> str:
    """Say what is wrong with the inputs that a step names, for behind its id; "" if nothing is.

    Args:
        names: What the step names.
        known: The inputs that there are.
    """
    for place, name in enumerate(names):
        if name in names[:place]:
            return f"names its input {name!r} twice"
        if name not in known:
            others = one_line(", ".join(sorted(known)), _SHOWN)
            has = f"there are {others}" if others else "no inputs are given"
            return f"reads an unknown input {name!r}; {has}"
    return ""


MAX_FILE_BYTES = 32 << 20
"""Bytes of a file: a PDF with pictures has more bytes than text, and all are read into memory."""
MAX_TEXT_BYTES = 8 << 20
"""Bytes of all texts together, as UTF-8: some 2.8 million tokens, more than a model reads in one
request. A run's folder keeps the texts several times: as given, in the plan and in the result."""
MAX_FILES = 1000
"""Files of a run: a folder with more is likely one that was not meant."""
MAX_PAGES = 2000
"""Pages of a PDF: taking the text out of so many takes about a minute."""
MAX_PDF_S = 120.0
"""Seconds of computing that reading a PDF may take: the most pages of usual ones take half."""
MAX_PDF_BYTES = 32 << 20
"""Bytes of a PDF's texts, as JSON: four times what a run may be given."""


def check_total(total: int, pictures: int = 0) -> None:
    """Refuse more text, or more of pictures, than a run may be given.

    Args:
        total: Bytes of all texts so far, without their pictures.
        pictures: Bytes of all pictures so far.

    Raises:
        InputError: It is too much.
    """
    if pictures > MAX_PICTURES_BYTES:
        raise InputError(
            f"The inputs have {size(pictures)} of pictures or more, and a run takes "
            f"{size(MAX_PICTURES_BYTES)}.",
            "Give fewer pictures, or smaller ones.",
        )
    if total > MAX_TEXT_BYTES:
        most = size(MAX_TEXT_BYTES)
        raise InputError(
            f"The inputs have {size(total)} of text or more, and a run takes {most}.",
            "Give fewer files, or only the parts that are needed.",
        )


_BOUNDS = ProcessBounds(MAX_PDF_S, answer_bytes=MAX_PDF_BYTES)
_FIXES = {
    "time": "Save it anew in a viewer, or give only the pages that are needed.",
    "memory": "Save it anew in a viewer, or give only the pages that are needed.",
    "answer": "Give only the pages that are needed.",
    "": "It may be damaged: open it in a viewer and save it anew.",
}


def pdf_text(
    data: bytes, name: str, bounds: ProcessBounds = _BOUNDS, *, pictures: bool = False
) -> str:
    """Return the text of a PDF, each page below a line that says which it is.

    Another process reads it, which may take so long and so much.

    Args:
        data: The file.
        name: What to call it in errors, with its noun.
        bounds: What reading it may take.
        pictures: Whether a page without text becomes a picture.

    Raises:
        InputError: It is damaged or encrypted, has too many pages, too much text or none, or takes
            more than it may.
    """
    script, work = BOUNDED_WORK, f"pages {MAX_PAGES}"
    if pictures:
        script, work = BOUNDED_PICTURES, f"{work} {MAX_PICTURES} {MAX_PIXELS} {MAX_SIDE}"
    try:
        found: dict[str, Any] = json.loads(answer_within(script, data, bounds, work))
    except BoundError as error:
        raise InputError(
            f"The {name} can't be read as a PDF: {error}.", _FIXES[error.over]
        ) from None
    if "encrypted" in found:
        raise InputError(
            f"The {name} is encrypted: it can't be read without its password.",
            "Save it without one, as with: qpdf --decrypt --password=… FILE NEW.",
        )
    if "count" in found:
        raise InputError(
            f"The {name} has {found['count']:,} pages, and at most {MAX_PAGES:,} are read.",
            "Give only the pages that are needed.",
        )
    if "pictures" in found:
        raise InputError(
            f"The {name} has {found['pictures']:,} pages without text, and at most "
            f"{MAX_PICTURES} are shown as pictures.",
            "Give only the pages that are needed, or have its text recognised first, as with: "
            "ocrmypdf FILE NEW.",
        )
    if "damaged" in found:
        raise _unreadable(name, whole_characters(found["damaged"]).rstrip("."))
    pages = [_page_text(page) for page in found["pages"]]
    if not any(pages):
        if pictures:
            raise InputError(
                f"The {name} is blank: nothing is on its {len(pages):,} page(s).", "Leave it out."
            )
        raise InputError(
            f"The {name} has no text: its {len(pages):,} page(s) hold pictures at most.",
            "Have its text recognised first, as with: ocrmypdf FILE NEW.",
        )
    return "\n\n".join(_page(number, text) for number, text in enumerate(pages, 1))


def _unreadable(name: str, why: str, over: str = "") -> InputError:
    return InputError(f"The {name} can't be read as a PDF: {why}.", _FIXES[over])


def _page_text(page: str | Mapping[str, Any]) -> str:
    return whole_characters(page) if isinstance(page, str) else picture_text_of(page["picture"])


def _page(number: int, text: str) -> str:
    return f"[page {number}]\n{text or '(no text)'}"


InputKind = Literal["text", "Markdown", "CSV", "JSON", "PDF", "picture"]

_KINDS: Mapping[str, InputKind] = MappingProxyType(
    {
        ".md": "Markdown",
        ".markdown": "Markdown",
        ".csv": "CSV",
        ".tsv": "CSV",
        ".json": "JSON",
        ".jsonl": "JSON",
        ".ndjson": "JSON",
        ".pdf": "PDF",
    }
)
_JSON_LINES = frozenset({".jsonl", ".ndjson"})
_PDF_BEGINNING = b"%PDF-"
_SHEETS = frozenset({".xls", ".ods", ".numbers", ".parquet"})
_DOCUMENTS = frozenset({".doc", ".odt", ".rtf", ".ppt", ".odp", ".pages"})
_PICTURES = frozenset({".heic", ".heif", ".avif", ".tif", ".tiff", ".bmp", ".ico", ".psd"})


def kind_of(name: str, beginning: bytes = b"") -> InputKind:
    """Return the kind of a file; what has no suffix that is known counts as text.

    Args:
        name: The file's name or path.
        beginning: Its first bytes; a PDF or a picture is known by them whatever it is called.
    """
    if beginning.startswith(_PDF_BEGINNING):
        return "PDF"
    if is_picture(beginning):
        return "picture"
    return _KINDS.get(_suffix(name), "text")


def is_json_lines(name: str) -> bool:
    """Say whether a file has one JSON document a line, by its name."""
    return _suffix(name) in _JSON_LINES


def advice_for_binary(name: str) -> str:
    """Say what to do about a file that is not a text."""
    if _suffix(name) in _SHEETS:
        return "Save the sheet as CSV, and give that."
    if _suffix(name) in _DOCUMENTS:
        return "Save it as PDF or as text, and give that."
    if _suffix(name) in _PICTURES:
        return "Save it as PNG or JPEG, and give that."
    return "Give text, Markdown, CSV, JSON, PDF, a picture, DOCX, PPTX, XLSX, HTML or EPUB."


def _suffix(name: str) -> str:
    return PurePath(name).suffix.lower()


_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def texts_of(data: bytes, name: str, noun: str = "input") -> dict[str, str]:
    """Return a file's texts: by "" its whole text, or by the names of its sheets the CSV of each.

    A picture is a text of its own form (`pictures`), and so is a PDF's page without text.

    Args:
        data: The file.
        name: The file's name or path.
        noun: What to call it in errors.

    Raises:
        InputError: As `text_of` says, or it is a picture that can't be read.
    """
    called = f"{noun} {name}"
    kind = kind_of(name, data)
    if kind == "picture":
        return {"": picture_text(read_picture(data, called))}
    if kind == "PDF":
        return {"": pdf_text(data, called, pictures=True)}
    if sheets := _office(data, name, called):
        return sheets
    return {"": text_of(data, name, noun)}


def text_of(data: bytes, name: str, noun: str = "input") -> str:
    """Return a file's text; of CSV and JSON as it stands, of a PDF its text layer.

    What an office program wrote is Markdown, each sheet of a workbook CSV below its name. A picture
    is a label that says which kind and size it has.

    Args:
        data: The file.
        name: The file's name or path.
        noun: What to call it in errors.

    Raises:
        InputError: It is empty, binary, not UTF-8 (says which byte), not JSON (says where), or a
            PDF without text.
    """
    called = f"{noun} {name}"
    if not data:
        raise InputError(f"The {called} is empty.", "Leave it out.")
    kind = kind_of(name, data)
    if kind == "PDF":
        return pdf_text(data, called)
    if kind == "picture" and (picture := made_picture(data)) is not None:
        return picture.label
    if sheets := _office(data, name, called):
        return "\n\n".join(
            f"[sheet {part}]\n{text}" if part else text for part, text in sheets.items()
        )
    if b"\0" in data and not data.startswith(_UTF16):
        raise InputError(f"The {called} is a binary file.", advice_for_binary(name))
    text = decoded(data, called)
    if not text.strip():
        raise InputError(f"The {called} holds nothing but blanks.", "Leave it out.")
    if kind == "JSON":
        _check_json(text, called, by_line=is_json_lines(name))
    return text


def _office(data: bytes, name: str, called: str) -> dict[str, str]:
    """Return the texts of what an office program wrote; none of anything else.

    A text that is called like one, such as notes in `plan.docx`, is a text.
    """
    kind = office_kind(name)
    is_one = data.startswith((b"PK\3\4", b"\xd0\xcf\x11\xe0")) or kind == "html"
    return office_texts(data, kind, called) if kind and is_one else {}


def _check_json(text: str, called: str, *, by_line: bool) -> None:
    # Not splitlines, which also splits at characters that JSON allows inside a string.
    documents = text.split("\n") if by_line else [text]
    for number, document in enumerate(documents, 1):
        if by_line and not document.strip():
            continue
        try:
            json.loads(document)
        except json.JSONDecodeError as error:
            line = number if by_line else error.lineno
            where = f"{error.msg} in line {line:,}, column {error.colno:,}"
            raise _no_json(called, where) from None
        except (ValueError, RecursionError) as error:
            # A number of thousands of digits, or thousands of brackets.
            raise _no_json(called, str(error)) from None


def _no_json(called: str, where: str) -> InputError:
    return InputError(
        f"The {called} is not JSON: {where}.", "Correct it, or give it a name that ends in .txt."
    )
