"""`prefect-swarm docs`: the pages of the documentation, which come with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ExitCode, InputError
from ..text import one_line
from .terminal.printing import print_markdown, print_table, print_text

__all__ = ["docs", "find_page", "topics"]

_FOLDER = Path(__file__).parents[1] / "docs"
_KINDS = ("tutorials", "how-to", "reference", "background")
_NAMED = 8


def docs(
    topic: Annotated[
        str | None,
        typer.Argument(metavar="TOPIC", help="A page, such as tools or how-to/tools."),
    ] = None,
) -> int:
    """Show a page of the documentation; without a TOPIC, list them."""
    if topic is None:
        print_table(("Topic", "Page"), [(name, _title(page)) for name, page in topics().items()])
        print_text("\nRead one: prefect-swarm docs TOPIC")
    else:
        print_markdown(find_page(topic).read_text("utf-8"))
    return ExitCode.COMPLETED


def topics() -> dict[str, Path]:
    """Return the pages by their topics: how-to/tools, reference/gates."""
    return {
        f"{kind}/{page.stem}": page
        for kind in _KINDS
        for page in sorted((_FOLDER / kind).glob("*.md"))
    }


def find_page(topic: str) -> Path:
    """Return the page of a topic: by its name, with its folder or without, or by its title.

    Raises:
        InputError: There is none, or several have the name.
    """
    pages = topics()
    if not pages:
        raise InputError(
            f"The documentation is not in {_FOLDER}.", "Install the package again; it comes along."
        )
    wanted = topic.strip().casefold().removeprefix("docs/").removesuffix(".md")
    if wanted in pages:
        return pages[wanted]
    word = wanted.replace(" ", "_").replace("-", "_")
    named = [name for name in pages if name.partition("/")[2].replace("-", "_") == word]
    if len(named) == 1:
        return pages[named[0]]
    if named:
        raise InputError(
            f"{len(named)} pages are called {wanted!r}.", f"Name one: {', '.join(named)}."
        )
    words = wanted.replace("_", " ").split()
    found = [name for name, page in pages.items() if all(w in _heads(page) for w in words)]
    if len(found) == 1:
        return pages[found[0]]
    found = found or _most_often(pages, words)
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    named_words = f"{', '.join(found[:_NAMED])}{more}"
    raise InputError(
        f"There is no page {one_line(topic, 60)!r}.",
        f"It is a word of {named_words}." if found else "`prefect-swarm docs` lists the pages.",
    )


def _most_often(pages: Mapping[str, Path], words: Sequence[str]) -> list[str]:
    texts = {name: page.read_text("utf-8").casefold() for name, page in pages.items()}
    counts = {
        name: min((text.count(word) for word in words), default=0) for name, text in texts.items()
    }
    return sorted((name for name in pages if counts[name]), key=lambda name: -counts[name])


def _title(page: Path) -> str:
    lines = page.read_text("utf-8").splitlines()
    return next((line.removeprefix("# ") for line in lines if line.startswith("# ")), page.stem)


def _heads(page: Path) -> str:
    lines = page.read_text("utf-8").splitlines()
    heads = [line for line in lines if line.startswith("#")]
    return "\n".join([page.stem, *heads]).casefold()
