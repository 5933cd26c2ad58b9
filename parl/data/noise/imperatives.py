"""Verbs that an objective may begin with, so that a `please` can go before it."""

from __future__ import annotations

__all__ = ["DETERMINERS", "IMPERATIVES", "NOUNS"]

_VERBS = """
    add advise analyse analyze answer argue arrange ask assess audit begin benchmark brainstorm
    build calculate capture categorise categorize check choose cite clarify classify clean code
    collect comment compare compile complete compose compute condense consider contrast convert
    copy correct count create critique cut debate debug decide define delete describe design
    detect determine develop diagnose discuss document double double-check draft draw edit
    elaborate enumerate estimate evaluate examine expand explain explore extract fact-check
    figure fill filter find finish fix format gather generate get give go grade group have help
    highlight identify illustrate implement improve inspect interpret introduce invent
    investigate invite join judge label lay learn let list load look make map match measure
    merge migrate name note number open optimise optimize order organise organize outline paint
    pair paraphrase parse pick pitch plan plot polish port predict prepare present print
    prioritise prioritize produce proofread propose prove provide pull put quote rank rate read
    rebuild recommend record redesign refactor remove rename rephrase replace replan report
    research respond restate retell reverse review revise rewrite run say scan schedule score
    search select sell send set shorten show simplify size sketch solve sort spell split spot
    stage start state strip study suggest sum summarise summarize survey tabulate take teach
    tell test think time total trace track transcribe transform translate turn type unpack
    update use validate verify vet walk weigh work write
"""

IMPERATIVES = frozenset(_VERBS.split())
"""Verbs in lower case."""

_NOUNS = """
    answer code comment cut design draft map match note order plan port report research review score
    size stage start sum survey test time total type use walk work
"""
_DETERMINERS = """
    a all an any both by each every for four how it me my on one our out that the these this those
    three two up us what whether why with
"""

NOUNS = frozenset(_NOUNS.split())
"""Imperatives that are just as often nouns; a determiner follows when they are verbs."""
DETERMINERS = frozenset(_DETERMINERS.split())
"""Words that can follow a verb."""
