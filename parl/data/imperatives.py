"""Verbs that an objective may begin with, so that a `please` goes before it."""

from __future__ import annotations

__all__ = ["IMPERATIVES"]

_VERBS = """
    add advise analyse analyze answer argue arrange ask assess audit benchmark brainstorm build
    calculate capture categorise categorize check choose cite clarify classify clean collect
    compare compile complete compose compute condense consider contrast convert copy correct
    count create critique cut debate debug decide define delete describe design detect determine
    develop diagnose document double draft draw edit elaborate enumerate estimate evaluate
    examine expand explain explore extract fact-check figure fill filter find finish fix format
    gather generate give go grade group help highlight identify illustrate implement improve
    inspect interpret introduce invent investigate invite join judge label lay learn list load
    look make map measure merge name note number open optimise optimize order organise organize
    outline paint pair paraphrase parse pick pitch plan plot polish predict prepare present
    print prioritise prioritize produce proofread propose prove provide pull put quote rank rate
    read rebuild recommend record refactor rename rephrase replace report research respond
    retell review revise rewrite run say scan schedule score search select sell send set shorten
    show simplify sketch solve sort spell split state strip study suggest sum summarise
    summarize survey take tell test think time trace track transcribe translate turn type unpack
    update use validate verify vet walk weigh work write
"""

IMPERATIVES = frozenset(_VERBS.split())
"""In lower case."""
