"""Long texts of pages, cut so that a document has a bounded size. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..page import Block, Page, Quoted, Section

__all__ = ["cut_pages"]

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
    left = budget
    for number, length in enumerate(lengths):
        share = left // (len(lengths) - number)
        if length > share:
            return share
        left -= length
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
