"""Slots show what their filters say."""

from __future__ import annotations

import pytest
from prefect_swarm.parl.data.expand import Renderer, draw_choices, seeded_random
from prefect_swarm.parl.data.wording import title

from .conftest import ReadPattern

VARIABLES = """
with k = 3 count
with a = 1 rice
with one = the red house
with v = Compare
with t = 2 towns
with r = Rank :: ranking | Sort :: sorting
with l = each t languages
with f = with {one} of [x] | without {k} or {nothing}
"""


def objectives(pattern: ReadPattern, ask: str, words: str = "") -> set[str]:
    """All that an ask says over many seeds."""
    lists = (
        "[rice]\nrice\n\n[towns: name, land]\nBonn :: Germany\nRiga :: Latvia\n"
        "\n[languages]\nGreek\nFinnish\n\n[odd: a, b]\nhour :: user\nSQL query :: 8-bit chip\n"
    )
    found = pattern(f"{VARIABLES}\nwith o = odd\nask {ask}", lists)
    written: set[str] = set()
    for seed in range(60):
        rng = seeded_random(seed)
        written.add(Renderer(draw_choices(found, rng)).write(found.asks[0], rng).plain_text())
    return written


@pytest.mark.parametrize(
    ("ask", "written"),
    [
        ("{k}", {"1, 2 and 3", "1, 2, and 3"}),
        ("{k|and}", {"1, 2 and 3", "1, 2, and 3"}),
        ("{k|or}", {"1, 2 or 3", "1, 2, or 3"}),
        ("{k|vs}", {"1 vs 2 vs 3"}),
        ("{k|commas}", {"1, 2, 3"}),
        ("{k|slash}", {"1/2/3"}),
        ("{k|semicolons}", {"1; 2; 3"}),
        ("{k|bullets}", {"- 1\n- 2\n- 3"}),
        ("{k|numbered}", {"1. 1\n2. 2\n3. 3"}),
        ("{k|lines}", {"1\n2\n3"}),
        ("all {k|n}", {"All 3", "All three"}),
        ("{k|n|cap}", {"3", "Three"}),
        ("{k|n} or {k|n}", {"3 or 3", "Three or three"}),
        ("{k|first}, {k|last}", {"1, 3"}),
        ("{k|rest|commas}; {k|most|commas}", {"2, 3; 1, 2"}),
        ("{k: no. {k}|first} or {k: no. {k}|last}", {"No. 1 or no. 3"}),
        ("{k: no. {k}|rest|commas}; {k: no. {k}|most|or}", {"No. 2, no. 3; no. 1 or no. 2"}),
        ("so: {k: no. {k}|cap|commas}", {"So: No. 1, no. 2, no. 3"}),
        ("so:\\n{k: no. {k}|cap|lines}", {"So:\nNo. 1\nNo. 2\nNo. 3"}),
        ("it's {a: {a|quote}|cap}, {a: {a}|cap}", {'It\'s "rice", Rice'}),
        ("{k|quote|commas}", {'"1", "2", "3"'}),
        ("{f|cap}", {"With the red house of [x]", "Without {k} or {nothing}"}),
        ("so {a} and {a|cap}", {"So rice and Rice"}),
        ("in {one|title}", {"In Red House"}),
        ("in {one|quote}", {'In "the red house"'}),
        ("{v|lower} this", {"Compare this"}),
        ("now {v|lower}", {"Now compare"}),
        ("to {t.land|or}", {"To Germany or Latvia", "To Latvia or Germany"}),
        ("to {t.name|lower|commas}", {"To bonn, riga", "To riga, bonn"}),
        ("{t: {t.name}, which is in {t.land}|semicolons}", {
            "Bonn, which is in Germany; Riga, which is in Latvia",
            "Riga, which is in Latvia; Bonn, which is in Germany",
        }),
        ("{k: the {k#}|commas}", {"The 1, the 2, the 3"}),
        ("{k: <in|at> {k}|commas}", {"In 1, in 2, in 3", "At 1, at 2, at 3"}),
        ("{r.1} for a {r.2}, {r}", {"Rank for a ranking, Rank", "Sort for a sorting, Sort"}),
        ("{l|and}", {"Greek and Finnish", "Finnish and Greek"}),
    ],
)  # fmt: skip
def test_a_filter_changes_what_a_slot_shows(
    pattern: ReadPattern, ask: str, written: set[str]
) -> None:
    assert objectives(pattern, ask) == written


def test_a_variable_goes_along_with_another(pattern: ReadPattern) -> None:
    written = objectives(pattern, "{t: {t.name} in {l}|commas}")
    assert written == {
        f"{first} in {language}, {second} in {other_language}"
        for first, second in (("Bonn", "Riga"), ("Riga", "Bonn"))
        for language, other_language in (("Greek", "Finnish"), ("Finnish", "Greek"))
    }


@pytest.mark.parametrize(
    ("ask", "written"),
    [
        ("<a|b>", {"A", "B"}),
        ("go <right |>on", {"Go right on", "Go on"}),
        ("go on <now|>.", {"Go on now.", "Go on."}),
        ("<|please> go", {"Go", "Please go"}),
        ("<a|<b|c> d>", {"A", "B d", "C d"}),
        ("<{a}|{one}>", {"Rice", "The red house"}),
        (r"x \n y", {"X\ny"}),
        ("open .env  , then .git", {"Open .env, then .git"}),
    ],
)
def test_alternatives_leave_no_trace(pattern: ReadPattern, ask: str, written: set[str]) -> None:
    assert objectives(pattern, ask) == written


@pytest.mark.parametrize(
    ("ask", "written"),
    [
        ("it is a {o}", {"It is an hour", "It is an SQL query"}),
        ("it is an {o.b}", {"It is a user", "It is an 8-bit chip"}),
        ("an {a}", {"A rice"}),
    ],
)
def test_the_article_fits_its_slot(pattern: ReadPattern, ask: str, written: set[str]) -> None:
    assert objectives(pattern, ask) == written


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("the tea ceremony", "Tea Ceremony"),
        ("electric cars", "Electric Cars"),
        ("parse_date", "Parse Date"),
        ("C++", "Cpp"),
        ("C#", "Csharp"),
        ("Le Petit Café", "Le Petit Cafe"),
        ('"Hamlet"', "Hamlet"),
        ("the fall of the Roman Empire", "Fall Roman Empire"),
        ("the old blue city bikes", "Blue City Bikes"),
        ("report.pdf", "Report.pdf"),
        ("src/app.py", "Src/app.py"),
        ("Tom’s café", "Tom's Cafe"),
        ("print_report(x)", "Print Report X"),
    ],
)
def test_a_title_is_fit_for_a_name(text: str, name: str) -> None:
    assert title(text) == name
