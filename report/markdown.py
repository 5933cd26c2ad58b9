"""A page as Markdown: texts of models keep their form but can't affect the page. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from ..text import code_span, fenced, one_line, visible
from .page import (
    Block,
    Bullets,
    Drawing,
    Figures,
    Page,
    Paragraph,
    Quoted,
    Ref,
    StepPicture,
    Strong,
    Table,
    Text,
    WebLink,
    words_of,
)

__all__ = [
    "MOST_CHARS",
    "bullets",
    "escape",
    "fenced",
    "fitted_rows",
    "label",
    "page_markdown",
    "plain",
    "table",
    "unblocked",
    "written",
]


# The older UI breaks no line of a table: on a screen of 1,400 points a page has room for so many
# characters, less what each column has around it.
_PAGE, _AROUND, _LEAST = 125, 5, 12
_MOST_CELL = 300


def fitted_rows(header: Sequence[str], rows: Sequence[Sequence[Text]]) -> list[tuple[Text, ...]]:
    """Cut the cells of the widest columns until the table fits; the pages of steps have it all."""
    room = max(0, _PAGE - _AROUND * len(header))
    widths = [
        max(len(name), *(min(len(words_of((row[place],))), _MOST_CELL) for row in rows))
        for place, name in enumerate(header)
    ]
    while sum(widths) > room and max(widths) > _LEAST:
        widest = max(range(len(widths)), key=widths.__getitem__)
        others = sorted(widths)[-2] if len(widths) > 1 else _LEAST
        over = sum(widths) - room
        widths[widest] = max(_LEAST, min(widths[widest] - 1, max(others, widths[widest] - over)))
    return [
        tuple(_cut(cell, width) for cell, width in zip(row, widths, strict=True)) for row in rows
    ]


def _cut(text: Text, width: int) -> Text:
    words = one_line(words_of((text,)), width)
    match text:
        case Ref() | Strong() | WebLink():
            return replace(text, text=words)
        case _:
            return words


# What Markdown or HTML gives a meaning to: a link, or an image that is fetched, among others. Of
# entities, Prefect's pages read back only the five of HTML, and backslashes everywhere.
_MARKDOWN: Mapping[int, str] = str.maketrans(
    {
        **{char: f"\\{char}" for char in "\\`|[]*_~@"},
        "&": "&amp;",
        '"': "&quot;",
        "<": "&lt;",
        ">": "&gt;",
    }
)
# What becomes a link by itself, or a heading, a list or a line at the start of a paragraph.
_PLAIN_URL = re.compile(r"https?://[\w.:/-]+")
"""An address of a page; what could end the link isn't in it."""
_LINK = re.compile(r"(?<=www)\.|:(?=//)", re.IGNORECASE)
_BLOCK = re.compile(r"^([-+#=]+|\d+[.)])(?=\s|$)")
_MERMAID: Mapping[int, str] = str.maketrans(
    {char: f"#{ord(char)};" for char in '#&"<>'} | {"`": "'"}
)


def plain(text: str, limit: int) -> str:
    """Bound a text and take its power over the page away."""
    return unblocked(escape(one_line(text, limit)))


def escape(text: str) -> str:
    """Take the power of a part of a line away; `unblocked` takes that of the whole line's start."""
    return _LINK.sub(r"\\\g<0>", text.translate(_MARKDOWN))


def unblocked(line: str) -> str:
    """Have a line begin no heading, list or rule."""
    return _BLOCK.sub(lambda start: f"{start[0][:-1]}\\{start[0][-1]}", line)


def label(text: str, limit: int) -> str:
    """Do the same for the label of a Mermaid node."""
    return one_line(text, limit).translate(_MERMAID)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a Markdown table of cells that are plain already."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def bullets(lines: Sequence[str]) -> str:
    """Write a Markdown list of lines that are plain already."""
    return "\n".join(f"- {line}" for line in lines)


_HEADING = "#####"  # below all headings of the page itself
_TARGET_CHARS = 200
_TEXTS = frozenset({"text", "text_special", "html_inline"})


def written(text: str) -> str:
    """Return Markdown that shows what somebody's Markdown says."""
    root = SyntaxTreeNode(_parser().parse(visible(text)))
    # Once more: Markdown's entities have become characters.
    return visible(_blocks(root.children))


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def _blocks(nodes: Iterable[SyntaxTreeNode]) -> str:
    return "\n\n".join(filter(None, map(_block, nodes)))


def _block(node: SyntaxTreeNode) -> str:
    match node.type:
        case "heading":
            return f"{_HEADING} {_line(node)}" if _line(node) else ""
        case "fence":
            return fenced(node.content, node.info.strip().split(" ")[0].lower())
        case "code_block":
            return fenced(node.content)
        case "hr":
            return "---"
        case "blockquote":
            return _prefixed(_blocks(node.children), "> ", "> ")
        case "bullet_list" | "ordered_list":
            return _list(node)
        case "table":
            return _table(node)
        case "html_block":
            return "\n".join(unblocked(escape(line.strip())) for line in _lines(node.content))
        case _:
            return _paragraph(node)


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def _list(node: SyntaxTreeNode) -> str:
    start = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
    items: list[str] = []
    for place, item in enumerate(node.children):
        mark = "- " if start is None else f"{min(start + place, 999_999)}. "
        items.append(_prefixed(_item(item), mark, " " * len(mark)))
    return "\n".join(items)


def _item(node: SyntaxTreeNode) -> str:
    """Write what an item has; a list in it follows its text directly, so that it stays tight."""
    body = ""
    for child in node.children:
        if text := _block(child):
            between = "\n" if child.type.endswith("_list") else "\n\n"
            body += f"{between}{text}" if body else text
    return body


def _table(node: SyntaxTreeNode) -> str:
    rows = [row for part in node.children for row in part.children]
    lines = ["| " + " | ".join(_line(cell) for cell in row.children) + " |" for row in rows]
    return "\n".join([lines[0], "|" + " --- |" * len(rows[0].children), *lines[1:]])


def _prefixed(text: str, first: str, others: str) -> str:
    lines = text.split("\n")
    return "\n".join([f"{first}{lines[0]}", *(f"{others}{line}".rstrip() for line in lines[1:])])


def _paragraph(node: SyntaxTreeNode) -> str:
    lines = _inline(_content(node)).split("\n")
    return "\n".join(unblocked(line.strip()) for line in lines if line.strip())


def _line(node: SyntaxTreeNode) -> str:
    return unblocked(" ".join(_inline(_content(node)).split()))


def _content(node: SyntaxTreeNode) -> list[SyntaxTreeNode]:
    inlines = [child for child in node.children if child.type == "inline"]
    return [part for inline in inlines for part in inline.children]


def _inline(nodes: Iterable[SyntaxTreeNode]) -> str:
    parts: list[str] = []
    text = ""
    for node in nodes:
        if node.type in _TEXTS:
            text += node.content  # together, since a link may begin in one and end in another
            continue
        parts += [escape(text), _part(node)]
        text = ""
    return "".join([*parts, escape(text)])


def _part(node: SyntaxTreeNode) -> str:
    match node.type:
        case "strong":
            return f"**{_inline(node.children)}**"
        case "em":
            return f"*{_inline(node.children)}*"
        case "s":
            return f"~~{_inline(node.children)}~~"
        case "code_inline":
            return code_span(node.content).replace("|", "\\|")
        case "link":
            return _link(node)
        case "image":
            return escape(f"[image: {node.content or 'unnamed'}]") + _target(node, "src")
        case "softbreak" | "hardbreak":
            return "\n"
        case _:
            return escape(node.content)


def _link(node: SyntaxTreeNode) -> str:
    shown = _inline(node.children)
    return shown if shown == escape(str(node.attrs["href"])) else shown + _target(node, "href")


def _target(node: SyntaxTreeNode, name: str) -> str:
    return escape(f" ({one_line(str(node.attrs[name]), _TARGET_CHARS)})")


MOST_CHARS = 60_000
"""Characters of a page; drawings and pictures are not counted."""
_LONGEST_SVG = 400_000
_WORDS = 4_000
_COLUMNS = 78  # of a block of code, in the narrower one of Prefect's UIs

Link = Callable[[str], str]
Draw = Callable[[Drawing], str]


def page_markdown(page: Page, link: Link, draw: Draw = lambda _: "") -> str:
    """Write a page.

    Args:
        page: What it says.
        link: Returns where a page of that name is; "" if nowhere.
        draw: Returns an SVG; "" where there is none, and the drawing's words are written instead.
    """
    parts = [f"# {plain(page.title, 200)}"]
    parts += [_page_block(block, link, draw) for block in page.lead]
    for section in page.sections:
        blocks = [_page_block(block, link, draw) for block in section.blocks]
        title = [f"## {plain(section.title, 200)}"]
        parts += [*title, *blocks] if any(blocks) else []
    text = _bounded([part for part in parts if part])
    # Half of a surrogate pair is not a character, and no server takes it.
    return text.encode("utf-8", "replace").decode("utf-8")


def _bounded(parts: Sequence[str]) -> str:
    printed: list[str] = []
    chars = 0
    for number, part in enumerate(parts):
        chars += 0 if part.startswith(_IMAGE) else len(part) + 2
        if chars > MOST_CHARS:
            # Whole parts alone are left out: half of one could leave a block of code open.
            omitted = sum(len(rest) for rest in parts[number:])
            printed.append(f"*The page ends here; {omitted:,} characters of it are left out.*")
            break
        printed.append(part)
    return "\n\n".join(printed)


def _page_block(block: Block, link: Link, draw: Draw) -> str:
    match block:
        case Paragraph(texts):
            return _texts(texts, link)
        case Bullets(lines):
            return bullets([_texts(texts, link) for texts in lines])
        case Table():
            return _page_table(block, link)
        case Figures(figures):
            rows = [(each.name, each.value, each.meaning) for each in figures]
            return _page_table(Table(("Figure", "Value", "Meaning"), tuple(rows)), link)
        case Quoted():
            return _quoted(block)
        case Drawing():
            return _drawing(block, draw)
        case StepPicture():
            return _picture(block)


def _texts(texts: Sequence[Text], link: Link) -> str:
    return "".join(_text(text, link, _WORDS) for text in texts)


def _text(text: Text, link: Link, limit: int) -> str:
    match text:
        case Ref(page, words):
            target = link(page)
            return f"[{plain(words, limit)}]({target})" if target else plain(words, limit)
        case WebLink(url, words):
            is_plain = _PLAIN_URL.fullmatch(url) is not None
            return f"[{plain(words, limit)}]({url})" if is_plain else plain(words, limit)
        case Strong(words):
            return f"**{plain(words, limit)}**"
        case _:
            # Making it one line takes the spaces at its ends, which divide it from its neighbours.
            before, after = (" " if edge.isspace() else "" for edge in (text[:1], text[-1:]))
            words = plain(text, limit)
            return f"{before}{words}{after}" if words else before


def _page_table(block: Table, link: Link) -> str:
    if not block.rows:
        return ""
    rows = [[_cell(cell, link) for cell in row] for row in fitted_rows(block.header, block.rows)]
    more = f"\n\n{block.more:,} more." if block.more else ""
    return table(block.header, rows) + more


def _cell(cell: Text, link: Link) -> str:
    return _text(cell, link, _WORDS).strip()


def _quoted(block: Quoted) -> str:
    if block.language == "markdown":
        text = written(block.text)
    else:
        text = fenced(block.text, block.language, columns=0 if block.language else _COLUMNS)
    omitted = f"\n\n*{block.left_out:,} more characters.*" if block.left_out else ""
    return text + omitted


_IMAGE = "!["


def _drawing(block: Drawing, draw: Draw) -> str:
    svg = draw(block)
    if not svg or len(svg) > _LONGEST_SVG:
        return plain(block.says, _WORDS)
    return _image(block.says, "image/svg+xml", svg.encode("utf-8", "replace"))


def _picture(block: StepPicture) -> str:
    says = plain(block.says, _WORDS)
    if block.drawn is None:
        return says
    return f"{_image(block.name, block.drawn.media_type, block.drawn.data)}\n\n{says}"


def _image(says: str, media_type: str, data: bytes) -> str:
    encoded = base64.b64encode(data).decode("ascii")
    return f"{_IMAGE}{plain(says, 300)}](data:{media_type};base64,{encoded})"
