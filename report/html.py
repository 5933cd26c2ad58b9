"""Pages as an HTML document: head, navigation, steps that open, and the texts of models. Pure.

Texts that a model wrote are bounded, run nothing and fetch nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, cast
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import (
    get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]
)
from pygments.util import ClassNotFound

from ..inputs.pictures import picture_text
from ..text import dollars, duration, one_line, plural
from .members import top_level, worth_a_look_first
from .page import Block, Drawing, Page, Paragraph, Quoted, Ref, RunView, Section, StepView, Strong
from .svg.costs import costs_says, costs_svg
from .svg.graph import graph_svg
from .svg.theme import DARK, LIGHT, SIGNS, amount, finished, harmless, safe
from .svg.timeline import timeline_svg

__all__ = [
    "MOST_CHARS",
    "coloured",
    "cut_pages",
    "fragment_html",
    "page_html",
    "prose",
    "report_html",
]

_LEAST = 200


def cut_pages(pages: Sequence[Page], budget: int, longest: int) -> list[Page]:
    """Cut quoted texts until all of them together have at most `budget` characters.

    Short texts stay whole: the longest are cut, to the same length. At least 200 characters stay
    of each. What is cut says so.

    Args:
        pages: The pages, of which those that come first have no advantage.
        budget: Characters of all quoted texts.
        longest: Characters of one at most.
    """
    lengths = sorted(
        len(block.text) for page in pages for block in _blocks(page) if isinstance(block, Quoted)
    )
    limit = max(_LEAST, min(longest, _limit(lengths, budget)))
    return [
        replace(
            page,
            lead=[_cut(block, limit) for block in page.lead],
            sections=[_cut_section(section, limit) for section in page.sections],
        )
        for page in pages
    ]


def _limit(lengths: Sequence[int], budget: int) -> int:
    """The length that texts can have so that all fit; `lengths` grow."""
    remaining = budget
    for number, length in enumerate(lengths):
        share = remaining // (len(lengths) - number)
        if length > share:
            return share
        remaining -= length
    return max(lengths, default=0)


def _blocks(page: Page) -> Iterable[Block]:
    yield from page.lead
    for section in page.sections:
        yield from section.blocks


def _cut_section(section: Section, limit: int) -> Section:
    return replace(section, blocks=[_cut(block, limit) for block in section.blocks])


def _cut(block: Block, limit: int) -> Block:
    if not isinstance(block, Quoted) or len(block.text) <= limit:
        return block
    rest = len(block.text) - limit
    return replace(block, text=block.text[:limit], left_out=block.left_out + rest)


_MOST = 30_000  # characters; colours take longer than all else, and more bytes than the text
_LINES = {"+": "added", "-": "removed", "@": "place"}


def coloured(text: str, language: str) -> Markup:
    """Return a text as HTML for a `pre`; a language that isn't known is plain."""
    text = harmless(text)
    if language == "diff":
        return Markup("\n").join(map(_line, text.split("\n")))
    if not language or len(text) > _MOST:
        return escape(text)
    try:
        lexer = _lexer(language)
    except ClassNotFound:
        return escape(text)
    return Markup(highlight(text, lexer, _formatter()).rstrip("\n"))  # noqa: S704 - it escapes


def _line(line: str) -> Markup:
    kind = _LINES.get(line[:1])
    markup = escape(line)
    return Markup('<span class="{}">{}</span>').format(kind, markup) if kind else markup


@cache
def _lexer(language: str) -> Any:
    return get_lexer_by_name(language, stripnl=False, ensurenl=False)


@cache
def _formatter() -> Any:
    return cast("Any", HtmlFormatter)(nowrap=True, classprefix="k-")


_SCHEMES = frozenset({"http", "https", "mailto"})
_DEEPEST = 6
# What is wide or long scrolls within itself, by the keyboard too. In a text these are escaped.
_SCROLLED = {
    Markup("<table>"): Markup(
        '<div class="scroll" role="group" tabindex="0" aria-label="Table"><table>'
    ),
    Markup("</table>"): Markup("</table></div>"),
    Markup("<pre>"): Markup('<pre role="group" tabindex="0" aria-label="Code">'),
}


def prose(text: str, level: int) -> Markup:
    """Draw Markdown; its own HTML is text, an image its words, and a link says where it leads.

    Args:
        text: Anything.
        level: What its headings begin with: 3 for `h3`. They leave out no level.
    """
    parser = _parser()
    tokens = parser.parse(harmless(text))
    _set_headings(tokens, level)
    for token in tokens:
        if token.children:
            token.children = _harmless(token.children)
    # Once more: Markdown's entities have become characters.
    rendered = harmless(parser.renderer.render(tokens, parser.options, {}))
    markup = Markup(rendered)  # noqa: S704 - html is off
    for plain, reachable in _SCROLLED.items():
        markup = markup.replace(plain, reachable)
    return markup


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
        ["table", "strikethrough"]
    )


def _set_headings(tokens: Sequence[Token], level: int) -> None:
    """Give headings levels from `level` on, each at most one deeper than the one before."""
    before, last = level - 1, level
    for token in tokens:
        if token.type == "heading_open":
            last = min(level + int(token.tag[1]) - 1, before + 1, _DEEPEST)
            before = last
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{last}"


def _harmless(tokens: Sequence[Token]) -> list[Token]:
    shown: list[Token] = []
    closing: list[str | None] = []
    for token in tokens:
        if token.type == "image":
            alt = one_line(token.content, 200)
            shown.append(_text(f"[image: {alt}]" if alt else "[image]"))
        elif token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            if urlsplit(address).scheme.lower() in _SCHEMES:
                token.attrs = {"href": address, "rel": "noopener noreferrer nofollow"}
                shown.append(token)
                closing.append(_host(address))
            else:
                closing.append(None)
        elif token.type == "link_close":
            host = closing.pop() if closing else None
            if host is not None:
                shown.append(token)
                shown.append(_text(f" ({host})"))
        else:
            shown.append(token)
    return shown


def _host(address: str) -> str:
    parts = urlsplit(address)
    return one_line(parts.netloc.rpartition("@")[2] or parts.path, 60)


def _text(words: str) -> Token:
    return Token("text", "", 0, content=words)


_SIGNS = {"completed": "succeeded", "partial": "ready", "passed": "succeeded", "error": "failed"}


@dataclass(frozen=True, slots=True)
class _Fact:
    """A figure of the head; `small` stands below it."""

    name: str
    value: str
    small: str = ""


def _facts_of(view: RunView) -> list[_Fact]:
    """Return the figures that a reader wants first."""
    steps = top_level(view.steps)
    counts = Counter(step.status_words for step in steps)
    shown = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    facts = [_Fact("Steps", f"{len(steps):,}", shown)]
    if more := len(view.steps) - len(steps):
        own = {step.id for step in steps}
        failed = sum(step.status == "failed" for step in view.steps if step.id not in own)
        facts.append(_Fact("Members", f"{more:,}", f"{failed:,} failed" if failed else ""))
    if view.metrics is not None:
        path = f"critical path {duration(view.metrics.critical_path_s)}"
        facts.append(_Fact("Time", duration(view.metrics.makespan_s), path))
        wide = f"parallelism {view.metrics.parallelism:.2f}"
        facts.append(_Fact("Speedup", f"{view.metrics.speedup:.2f}×", wide))
    cost = view.cost
    facts.append(_Fact("Tokens", amount(cost.tokens), plural(cost.calls, "call")))
    if cost.money_usd is not None:
        facts.append(_Fact("Cost", dollars(cost.money_usd)))
    return facts


def _sign_of(status: str) -> str:
    """Return the status of a step whose sign a run's status or a gate's verdict has."""
    return _SIGNS.get(status, status)


def _step_line(step: StepView) -> str:
    """Say in a few words what a step took."""
    tries = step.state.attempts
    if step.state.summary:
        return one_line(f"{step.status_words}: {step.state.summary}", 120)
    if step.state.by_condition:
        return one_line(step.state.reason, 120)
    if not tries:
        return step.status_words
    worked = duration(step.state.work_s)
    again = f", {len(tries)} attempts" if len(tries) > 1 else ""
    critical = ", critical path" if step.state.critical else ""
    return f"{step.status_words} in {worked}{again}{critical}"


MOST_TITLE = 400
MOST_CHARS = 4_000_000
"""Characters of all texts of a document together."""
_LONGEST = 100_000
_SMALL_BUDGET, _SMALL_LONGEST = 200_000, 20_000


def _kind(block: object) -> str:
    return type(block).__name__


_FILTERS: dict[str, Any] = {
    "coloured": coloured,
    "harmless": harmless,
    "kind": _kind,
    "picture_text": picture_text,
    "prose": prose,
    "safe_text": safe,
    "sign_of": _sign_of,
    "step_line": _step_line,
}


def report_html(view: RunView, pages: Sequence[Page]) -> str:
    """Write a whole document, of some megabytes at most, that a browser shows without a network.

    Args:
        view: The run, without secrets.
        pages: Its pages; those that are named after a step become steps that open.
    """
    return _rendered("report.html.j2", view, cut_pages(pages, MOST_CHARS, _LONGEST), "page-")


def fragment_html(view: RunView, pages: Sequence[Page]) -> str:
    """Write the same, smaller, as a part of another document: a notebook."""
    small = cut_pages(pages, _SMALL_BUDGET, _SMALL_LONGEST)
    return _rendered("fragment.html.j2", view, small, f"run-{view.run_id}-")


def page_html(page: Page, drawing: str = "", says: str = "") -> str:
    """Write a page that is about no run as a document of its own.

    Args:
        page: What it says, without secrets.
        drawing: An SVG that is shown first, made by a template that escapes; "" for none.
        says: The same in words.
    """
    (cut,) = cut_pages([page], MOST_CHARS, _LONGEST)
    filled = _environment().get_template("page.html.j2")
    shown = Markup(drawing)  # noqa: S704 - made by a template that escapes
    return filled.render(page=cut, drawing=shown, says=says, light=LIGHT, dark=DARK, signs=SIGNS)


def _rendered(template: str, view: RunView, pages: Sequence[Page], anchor: str) -> str:
    steps = {step.id: step for step in view.steps}
    pages = _without_repetition([_fitted(page, view) for page in _with_costs(pages, view)])
    texts = {page.name: page for page in pages}
    shown = [step for step in worth_a_look_first(view.steps) if step.id in texts]
    return (
        _environment()
        .get_template(template)
        .render(
            view=view,
            pages=[page for page in pages if page.name not in steps],
            steps=[(step, texts[step.id]) for step in shown],
            names={page.name for page in pages},
            anchor=anchor,
            most_title=MOST_TITLE,
            facts=_facts_of(view),
            drawing=partial(_drawing, view, anchor),
            light=LIGHT,
            dark=DARK,
            signs=SIGNS,
        )
    )


def _without_repetition(pages: Sequence[Page]) -> list[Page]:
    """Leave out what a page begins with where an earlier one says it: what went wrong."""
    said: set[Paragraph] = set()
    kept: list[Page] = []
    for page in pages:
        lead = [b for b in page.lead if not (isinstance(b, Paragraph) and b in said)]
        kept.append(replace(page, lead=lead))
        said.update(b for part in page.sections for b in part.blocks if isinstance(b, Paragraph))
    return kept


def _with_costs(pages: Sequence[Page], view: RunView) -> list[Page]:
    """Add what the run took, if no page draws it."""
    shown = [block for page in pages for part in page.sections for block in part.blocks]
    if any(isinstance(block, Drawing) and block.kind == "costs" for block in shown):
        return [*pages]
    drawing = Section("Tokens and money", [Drawing("costs", costs_says(view))])
    return [*pages, Page("costs", "Costs", [], [drawing])]


def _fitted(page: Page, view: RunView) -> Page:
    """Leave out what the head of the document has: the ways to other pages, status, objective."""
    steps = frozenset(step.id for step in view.steps)
    if page.name in steps:
        return page
    lead = [b for b in page.lead if not _is_way(b, steps) and not _is_status(b, view.status_words)]
    shown = len(view.objective) <= MOST_TITLE
    parts = [part for part in page.sections if not (shown and part.title == "Objective")]
    return replace(page, lead=lead, sections=parts)


def _is_way(block: Block, steps: frozenset[str]) -> bool:
    if not isinstance(block, Paragraph):
        return False
    pages = [text.page for text in block.texts if isinstance(text, Ref)]
    return len(pages) > 1 and steps.isdisjoint(pages)


def _is_status(block: Block, status: str) -> bool:
    return isinstance(block, Paragraph) and block.texts[:1] == (Strong(status),)


def _drawing(view: RunView, anchor: str, kind: str) -> Markup:
    drawings = {
        "graph": lambda: graph_svg(view, anchor=anchor),
        "timeline": lambda: timeline_svg(view, anchor=anchor),
        "costs": lambda: costs_svg(view),
    }
    return Markup(drawings[kind]())  # noqa: S704 - made by templates that escape


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__name__.rpartition(".")[0]),
        autoescape=True,
        finalize=finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(_FILTERS)
    return environment
