"""Markdown that a model wrote: it keeps its form and loses its power. Pure.

It is read by a parser and written anew from what was read: headings, lists, tables, code and
emphasis. HTML is shown as it was written; a link shows where it leads and leads nowhere, and an
image is named and not fetched.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from ...text import code_span, fenced, one_line, visible
from .markdown import escape, unblocked

__all__ = ["written"]

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
    """Write what an item has; a list in it follows its text at once, so that it stays tight."""
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
