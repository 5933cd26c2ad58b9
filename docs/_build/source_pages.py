"""Pages that are read from the source: the public Python names, and the packages."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import prefect_swarm
from tables import GENERATED

__all__ = ["package_page", "python_page"]

ROOT = Path(__file__).parents[2]
_OUTSIDE = {"benches", "build", "dist", "docs", "examples", "tests"}


def python_page() -> str:
    """Return the page of the public names: signature and docstring of each."""
    parts = [
        GENERATED,
        "# Python",
        "All of it is imported from `prefect_swarm`. Times are seconds, amounts of text are tokens unless it says otherwise. "
        "[The options](options.md), [the plan language](plan_language.md) and [the events](events.md) have pages of their own.",
    ]
    for name in prefect_swarm.__all__:
        value = getattr(prefect_swarm, name)
        parts.append(f"## {name}\n\n```python\n{_signature(name, value)}\n```\n\n{_text(value)}")
        if inspect.isclass(value):
            parts += _methods(name, value)
    return "\n\n".join(parts) + "\n"


def package_page() -> str:
    """Return the page of the packages: what their docstrings say."""
    parts = [
        GENERATED,
        "# Packages",
        "Contents of each package, from the docstring of its `__init__.py`. Names are relative to `prefect_swarm`.",
    ]
    for path in sorted(ROOT.rglob("__init__.py")):
        where = path.parent.relative_to(ROOT)
        if not where.parts or where.parts[0] in _OUTSIDE or where.parts[0].startswith("."):
            continue
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        parts.append(f"## {'.'.join(where.parts)}\n\n{_prose(text)}")
    return "\n\n".join(parts) + "\n"


def _signature(name: str, value: Any) -> str:
    node = _node(value)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return _header(node)
    return f"class {name}"


def _header(node: ast.FunctionDef | ast.AsyncFunctionDef, indent: str = "") -> str:
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{kind} {node.name}({_arguments(node)}){result}"
    if len(indent + line) <= 100:
        return indent + line
    arguments = re.split(r", (?![^\[(]*[\])])", _arguments(node))
    return indent + f"{kind} {node.name}(\n    " + ",\n    ".join(arguments) + f",\n){result}"


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return re.sub(r"(: [^=,]+)=", r"\1 = ", ast.unparse(node.args))


def _node(value: Any) -> ast.AST | None:
    function = inspect.unwrap(getattr(value, "fn", value))
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return None
    return ast.parse(inspect.cleandoc("\n" + source) if source[0] == " " else source).body[0]


def _methods(name: str, value: type) -> list[str]:
    node = _node(value)
    if not isinstance(node, ast.ClassDef):
        return []
    parts: list[str] = []
    for member in node.body:
        if not isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(member)
        if text and not member.name.startswith("_"):
            parts.append(
                f"### {name}.{member.name}\n\n```python\n{_header(member)}\n```\n\n{_prose(text)}"
            )
    return parts


def _text(value: Any) -> str:
    return _prose(inspect.getdoc(getattr(value, "fn", value)) or "")


def _prose(text: str) -> str:
    """Return a docstring as Markdown: its sections become lists, indented code a fenced block."""
    head, *parts = re.split(_SECTION, inspect.cleandoc(text), flags=re.MULTILINE)
    sections = zip(parts[::2], parts[1::2], strict=True)
    made = [_fenced(head), *(f"**{name}**\n\n{_section(name, body)}" for name, body in sections)]
    return "\n\n".join(part.strip("\n") for part in made if part.strip())


_SECTION = r"^(Args|Returns|Raises|Yields|Attributes|Examples?):$"


def _section(name: str, body: str) -> str:
    text = textwrap.dedent(body).strip("\n")
    if name.startswith("Example"):
        return text
    return "\n".join(
        f"- `{found[1]}`: {found[2]}"
        if (found := re.match(r"([\w.*, ]+?): (.*)", line))
        else "  " + line.strip()
        for line in text.splitlines()
    )


def _fenced(text: str) -> str:
    """Put paragraphs that are indented into fenced blocks."""
    blocks = re.split(r"(?:\A|(?<=\n\n))((?: {4}.*\n?|\n(?= {4}))+)", text)
    return "".join(
        f"```\n{textwrap.dedent(block).strip()}\n```\n\n" if block.startswith("    ") else block
        for block in blocks
    ).replace("\n\n\n", "\n\n")
