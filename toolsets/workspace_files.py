"""What the toolset `workspace` reads and changes in a tree, as a model is told of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import InputError
from ..quoting import Quote, with_quotes
from ..text import one_line
from ..workspace.git import GitFailedError
from ..workspace.names import first_names, is_within, path_problem, pattern_problem
from ..workspace.repository import LARGEST_FILE, Entry, FileData, Repository

__all__ = [
    "Outcome",
    "edited",
    "found_lines",
    "listing",
    "named",
    "page",
    "quoted_text",
    "rewritten",
    "without",
]

_MOST_LISTED = 200
_MOST_FOUND = 60
_MOST_LINES = 400
_LINE = 400
_NAMED = 20
_PLACES = 5
_CHARACTERS = 16_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call answers, and the tree that it left; None where it changed nothing."""

    answer: str
    tree: str | None = None


def named(names: Sequence[str]) -> str:
    """Name the first of some files."""
    return first_names([one_line(name, 160) for name in names], _NAMED)


def quoted_text(label: str, text: str) -> list[str]:
    """Return what files or programs say, between marks."""
    return with_quotes([Quote(text=text, label=label)], explained=False)


def _checked(path: str) -> str:
    """Return a path as the files have it.

    Raises:
        InputError: A subagent may not have such a file.
    """
    plain = path.strip().removeprefix("./").rstrip("/")
    if problem := path_problem(plain):
        raise InputError(f"{one_line(path, 200)!r} can't be used: {problem}.")
    return plain


def _entry_of(repository: Repository, tree: str, path: str) -> Entry:
    entry = repository.entries(tree, (path,)).get(path)
    if entry is None:
        raise InputError(f"There is no file {path}.", "Use a path that list or search shows.")
    if entry.kind in ("link", "submodule"):
        raise InputError(f"{path} is a {entry.kind}, which is neither read nor changed.")
    return entry


def _text_of(repository: Repository, tree: str, path: str) -> tuple[str, Entry]:
    entry = _entry_of(repository, tree, path)
    data = repository.data(entry)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise InputError(f"{path} is no text in UTF-8: {len(data):,} bytes.")
    return text, entry


def listing(repository: Repository, tree: str, folder: str, pattern: str) -> str:
    """Return the files of a folder, by their paths, with their sizes."""
    below = "" if folder.strip() in ("", ".", "./", "/") else _checked(folder)
    if pattern and (problem := pattern_problem(pattern)):
        raise InputError(f"The pattern can't be used: {problem}.")
    entries = repository.entries(tree, (below,) if below else ())
    found = [
        entry
        for entry in entries.values()
        if pattern in ("", "*") or is_within(entry.path, (pattern,))
    ]
    if not found:
        raise InputError(f"No file is there: folder {below or '.'}, pattern {pattern or '*'}.")
    lines = [f"{entry.path} ({entry.size:,} bytes)" for entry in found[:_MOST_LISTED]]
    if len(found) > _MOST_LISTED:
        lines.append(f"[{len(found) - _MOST_LISTED:,} more: name a folder or a pattern]")
    return "\n".join(quoted_text("", "\n".join(lines)))


def found_lines(repository: Repository, tree: str, text: str, *, regular: bool, folder: str) -> str:
    """Return the lines that have a text or fit an expression, with their files and numbers."""
    if not text.strip() or "\n" in text:
        raise InputError("What is looked for is one line, and not empty.")
    below = "" if folder.strip() in ("", ".", "./", "/") else _checked(folder)
    try:
        hits = repository.search(
            tree, text, literal=not regular, paths=(below,) if below else (), most=_MOST_FOUND
        )
    except GitFailedError as error:
        raise InputError(f"It can't be looked for: {error.problem}") from None
    if not hits:
        raise InputError(f"Nothing is found: {one_line(text, 200)}.")
    lines = [
        f"{hit.path}:{hit.line}: {hit.text[:_LINE]}".rstrip("\r") for hit in hits[:_MOST_FOUND]
    ]
    left = len(hits) - _MOST_FOUND
    more = [f"[{left:,} more lines: name a folder, or look for more]"] if left > 0 else []
    return "\n".join(quoted_text("", "\n".join([*lines, *more])))


def page(repository: Repository, tree: str, path: str, start: int, count: int) -> str:
    """Return some lines of a file with their numbers, which the file doesn't have."""
    plain = _checked(path)
    text, _ = _text_of(repository, tree, plain)
    lines = text.replace("\r\n", "\n").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    first = min(max(1, start), max(1, len(lines)))
    shown: list[str] = []
    room = _CHARACTERS
    end = first - 1 + max(1, min(count, _MOST_LINES))
    for number, line in enumerate(lines[first - 1 : end], first):
        room -= len(line) + 8
        if room < 0 and shown:
            break
        cut = line if len(line) <= _CHARACTERS else f"{line[:_CHARACTERS]}[…]"
        shown.append(f"{number:>5}  {cut}")
    last = first + len(shown) - 1
    head = f"{plain}, lines {first} to {last} of {len(lines)}:" if lines else f"{plain} is empty."
    return "\n".join([head, *quoted_text("", "\n".join(shown))] if shown else [head])


def edited(repository: Repository, tree: str, path: str, old: str, new: str) -> Outcome:
    """Replace a text that a file has exactly once."""
    plain = _checked(path)
    text, entry = _text_of(repository, tree, plain)
    with_ends = old.replace("\r\n", "\n").replace("\n", "\r\n")
    if "\r\n" in text and (with_ends in text or old not in text):
        # The file's own line ends, which a model doesn't see.
        old, new = with_ends, new.replace("\r\n", "\n").replace("\n", "\r\n")
    starts = _starts(text, old)
    if len(starts) != 1:
        raise InputError(_why_not_once(plain, text, old, starts))
    if old == new:
        raise InputError("The new text is the old one: nothing would change.")
    data = text.replace(old, new, 1).encode("utf-8", "replace")
    return _written(repository, tree, plain, data, entry)


def _starts(text: str, old: str) -> list[int]:
    """Return where a text has another, the first places: they may overlap."""
    found: list[int] = []
    start = text.find(old) if old else -1
    while start >= 0 and len(found) <= _PLACES:
        found.append(start)
        start = text.find(old, start + 1)
    return found


def _why_not_once(path: str, text: str, old: str, starts: Sequence[int]) -> str:
    if not old:
        return "The old text is empty. Use write to make a new file."
    if starts:
        lines = ", ".join(str(text.count("\n", 0, index) + 1) for index in starts[:_PLACES])
        more = "" if len(starts) <= _PLACES else " and others"
        return f"{path} has that text more than once, in lines {lines}{more}. Give lines around it."
    first = next((line.strip() for line in old.splitlines() if line.strip()), "")
    near = [n for n, line in enumerate(text.splitlines(), 1) if first and first in line][:5]
    hint = (
        f"Its first line is in line {', '.join(map(str, near))}, what follows differs."
        if near
        else "Read the file first."
    )
    return f"{path} doesn't have that text exactly, blanks and line ends among it. {hint}"


def _written(
    repository: Repository, tree: str, path: str, data: bytes, entry: Entry | None
) -> Outcome:
    if len(data) > LARGEST_FILE:
        raise InputError(f"{path} would have {len(data):,} bytes; {LARGEST_FILE:,} is the most.")
    executable = entry is not None and entry.kind == "executable"
    after = repository.with_changes(tree, {path: FileData(data, executable)})
    words = "is changed" if entry is not None else "is new"
    return Outcome(f"{path} {words}: {len(data):,} bytes.", after)


def rewritten(repository: Repository, tree: str, path: str, content: str) -> Outcome:
    """Write a whole file."""
    plain = _checked(path)
    entries = repository.entries(tree, (plain,))
    entry = entries.get(plain)
    if entry is not None and entry.kind in ("link", "submodule"):
        raise InputError(f"{plain} is a {entry.kind}, which is not changed.")
    if entry is None and entries:
        raise InputError(f"{plain} is a folder.")
    parents = ["/".join(plain.split("/")[:depth]) for depth in range(1, plain.count("/") + 1)]
    above = [each for each in parents if each in repository.entries(tree, (each,))]
    if above:
        raise InputError(f"{above[0]} is a file, so that nothing can be in it.")
    if entry is None and repository.ignored(tree, [plain]):
        raise InputError(f"git ignores {plain}: the patch would not have it.", "Use another name.")
    return _written(repository, tree, plain, content.encode("utf-8", "replace"), entry)


def without(repository: Repository, tree: str, path: str) -> Outcome:
    """Delete a file."""
    plain = _checked(path)
    _entry_of(repository, tree, plain)
    return Outcome(f"{plain} is deleted.", repository.with_changes(tree, {plain: None}))
