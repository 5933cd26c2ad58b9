"""A plan as numbered lines, the form in which a local model writes it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...errors import PlanError
from ...plan.task_ir import Agent, OutputKind, PlanRules, TaskIR, final_step, parse_plan

__all__ = [
    "CAPITALS",
    "GRAMMAR_STEPS",
    "RULES",
    "WORDS",
    "RepairedPlan",
    "Rule",
    "asked_in",
    "flat",
    "grammar",
    "output_kind",
    "read_lines",
    "repair_by",
    "repair_plan",
    "repetition_reason",
    "system_prompt",
    "write_lines",
]


_MAKES = (
    r"(?:write|create|implement|build|make|code|develop|program|add|provide|give|generate|produce)"
)
# A word has an end that is found without looking back: else each blank is one more way to read it.
_UP_TO = r"(?:\W{1,9}+\w[\w'’.`-]{0,40}+){0,6}?\W{1,9}"
_CODE = r"(?:function|class|script|program|module|decorator|generator|method|parser|tests?|code)"
_ABOUT = re.compile(
    r"\b(?:explain|describe|review|summari[sz]e|compare|translate|document|discuss|plan|estimate|"
    r"research|find out|say)\b",
    re.IGNORECASE,
)
_PYTHON = re.compile(
    rf"\b{_MAKES}\b{_UP_TO}(?:python|pytest)\b{_UP_TO}{_CODE}\b"
    rf"|\b{_MAKES}\b{_UP_TO}{_CODE}\b.{{0,200}}\b(?:in python|with pytest|using pytest)\b"
    rf"|\b{_MAKES}\b{_UP_TO}\w{{1,40}}\.py\b"
    r"|\b(?:python|pytest)\W{1,9}(?:function|class|script|program|module|tests?)\b",
    re.IGNORECASE,
)
_SHELL = re.compile(
    rf"\b{_MAKES}\b{_UP_TO}(?:bash|shell|sh)\W{{1,9}}(?:script|function|one-liner|command)\b"
    rf"|\b{_MAKES}\b{_UP_TO}\w{{1,40}}\.sh\b",
    re.IGNORECASE,
)
_JSON = re.compile(
    rf"\b(?:as|in|return|{_MAKES})\b(?:\W{{1,9}}+\w{{1,40}}+){{0,3}}?\W{{1,9}}json\b", re.IGNORECASE
)


def output_kind(prompt: str) -> OutputKind:
    """Return the kind of output that a prompt asks for; text where it isn't plainly another.

    A plan in lines doesn't say, since a small model that says it says it wrong. Taking code for
    text costs its gates; taking text for code would fail it.
    """
    if _ABOUT.match(prompt):
        return "text"
    if _PYTHON.search(prompt):
        return "python"
    if _SHELL.search(prompt):
        return "shell"
    return "json" if _JSON.search(prompt) else "text"


class RepairedPlan(NamedTuple):
    """A plan, and what was changed in it, a clause each."""

    plan: TaskIR
    notes: tuple[str, ...] = ()


Rule = Callable[[TaskIR], RepairedPlan]


def repair_plan(plan: TaskIR) -> RepairedPlan:
    """Repair a plan by the objective it has; repairing it once more changes nothing."""
    return repair_by(RULES, plan)


def repair_by(rules: Sequence[Rule], plan: TaskIR) -> RepairedPlan:
    """Repair a plan by some of the rules, one after another."""
    notes: tuple[str, ...] = ()
    for rule in rules:
        plan, clauses = rule(plan)
        notes += clauses
    return RepairedPlan(plan, notes)


def ask_what_was_asked(plan: TaskIR) -> RepairedPlan:
    """Let a plan of one step ask in the objective's own words: nothing of it is lost."""
    step = plan.steps[0]
    if len(plan.steps) > 1 or step.prompt == plan.objective:
        return RepairedPlan(plan)
    asked = step.model_copy(update={"prompt": plan.objective})
    repaired = plan.model_copy(update={"steps": (asked,)})
    return RepairedPlan(repaired, (f"{step.id} asks what the objective asks",))


RULES: tuple[Rule, ...] = (ask_what_was_asked,)
"""All rules, in the order in which they are applied."""


# From Latin to Mongolian, and Vietnamese. Between them are capitals that hardly any text has, and
# whose bytes a model would take where it is let.
_ALPHABETS = ((0xC0, 0x17F), (0x370, 0x1DFF), (0x1EA0, 0x1EFF))
_OTHERS = r"\u3041-\ua4cf\uac00-\ud7a3"
"""Japanese, Chinese, Yi and Korean."""


def _ranges(code_points: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Join ascending numbers that follow one another."""
    first = last = None
    for code_point in code_points:
        if first is None or last is None:
            first = last = code_point
        elif code_point == last + 1:
            last = code_point
        else:
            yield first, last
            first = last = code_point
    if first is not None and last is not None:
        yield first, last


def _begins(code_point: int) -> bool:
    return chr(code_point).isalpha() and not chr(code_point).islower()


def _capitals() -> str:
    code_points = (n for first, last in _ALPHABETS for n in range(first, last + 1))
    found = _ranges(filter(_begins, code_points))
    return "A-Z" + "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in found) + _OTHERS


CAPITALS = _capitals()
"""Common capitals, and letters of alphabets that have none.

A small model that would rather end its line takes a lone blank, behind which whole words are as
unlikely to it as single bytes of letters that it never uses. With `ı` or `Ƭ` among the letters it
took those, and wrote nothing else to the end.
"""


GRAMMAR_STEPS = 14
"""Steps the grammar allows where nothing says otherwise."""

# Words hold no white space of any alphabet: a prompt made of it would be empty once stripped.
_SPACES = r"\x00-\x20\x7f-\xa0\u1680\u2000-\u200f\u2028\u2029\u202f\u205f\u3000\ufeff"
_ABROAD = r"\u00c0-\u167f\u1681-\u1fff\u2010-\u2027\u2060-\u2fff\u3001-\ufefe\uff00-\U0010ffff"
WORDS = rf"""
name ::= capital letter{{0,15}} (" " letter{{1,15}}){{0,3}}
capital ::= [{CAPITALS}]
letter ::= [A-Za-z0-9'&/.{_ABROAD}-]
persona ::= " [" trait (" " trait){{0,15}} "]"
trait ::= [A-Za-z0-9{_ABROAD}] [^{_SPACES}\[\]]{{0,23}}
prompt ::= capital [^{_SPACES}]{{0,39}} (" " word){{1,47}}
word ::= [^{_SPACES}0-9(] [^{_SPACES}]{{0,39}} | aside | number
aside ::= "(" ([^{_SPACES}n] [^{_SPACES}]{{0,38}} | "n" ([^{_SPACES}e] [^{_SPACES}]{{0,37}})?)
number ::= [0-9] ("."? [^{_SPACES}.]){{0,39}}
"""
"""GBNF rules of bounded names, personas and prompts, for other lines of this kind too."""

_LINE = re.compile(
    r"(?P<number>\d{1,6}+)\. ++(?P<name>[^:\[\]()]++)(?:(?<= )\[(?P<persona>[^\[\]]*+)\])?: *+"
    r"(?P<prompt>.+?)(?: \(needs (?P<needs>\d{1,6}+(?:, *+\d{1,6}+)*+)\))?"
)
_SYSTEM = "You are {name}, one specialist of a team{persona}. Do your task fully and to the point."
_SYSTEM_READ = re.compile(
    re.escape(_SYSTEM).replace(r"\{name\}", ".{1,200}").replace(r"\{persona\}", "(.*)")
)


def grammar(max_steps: int = GRAMMAR_STEPS) -> str:
    """Return the GBNF of plans with at most `max_steps` lines.

    Every step position has its own rule, and what it may need is an ascending list of the positions
    before it. Lengths are bounded, so that every plan ends. No word begins with `(ne`, which keeps
    a prompt from being taken for what its step needs; names and prompts begin with a capital, and
    no number ends with a dot, since a small model would else count on instead of saying what to do.
    """
    rules = ["root ::= line1 more1"]
    for step in range(1, max_steps + 1):
        needs = f' (" (needs " from{step}x1 ")")?' if step > 1 else ""
        rules.append(f'line{step} ::= "{step}. " name persona? ": " prompt{needs}')
        rules.extend(_needs_rules(step))
        following = f'"\\n" line{step + 1} more{step + 1}' if step < max_steps else '""'
        rules.append(f"more{step} ::= ({following})?")
    return "\n".join(rules) + WORDS


def _needs_rules(step: int) -> Iterable[str]:
    """Rules for the ascending, non-empty lists of the steps from `first` to before `step`."""
    for first in range(1, step):
        choices = [
            f'"{need}"' + (f' (", " from{step}x{need + 1})?' if need + 1 < step else "")
            for need in range(first, step)
        ]
        yield f"from{step}x{first} ::= " + " | ".join(choices)


def read_lines(text: str, objective: str, rules: PlanRules | None = None) -> TaskIR:
    """Read a plan. A line that asks an agent what it was asked before is left out.

    Raises:
        PlanError: A line is not a step, is misnumbered, or the plan breaks a rule; it has the text.
    """
    draft = _Draft()
    for line in filter(None, map(str.strip, text.split("\n"))):
        match = _LINE.fullmatch(line)
        if match is None or int(match["number"]) != len(draft.numbers) + 1:
            raise PlanError(
                f"Line {len(draft.numbers) + 1} of the plan is not a step: {line[:80]!r}.",
                "Write `N. Name: What to do (needs 1, 2)`, numbered from 1.",
                text,
            )
        draft.add(match)
    if not draft.steps:
        raise PlanError("The plan has no line.", "Write one line for each step.", text)
    data = {"objective": objective, "agents": [*draft.agents.values()], "steps": draft.steps}
    try:
        plan = parse_plan(data, rules)
    except PlanError as error:
        raise PlanError(error.problem, error.fix, text) from None
    return plan.model_copy(update={"final_step": final_step(plan.steps)})


def asked_in(line: str) -> tuple[str, str] | None:
    """Return a line's agent, in lower case, and its prompt; None if it is not a step."""
    match = _LINE.fullmatch(line.strip())
    return (
        (match["name"].rstrip().casefold(), match["prompt"].strip()) if match is not None else None
    )


@dataclass
class _Draft:
    agents: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    steps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    numbers: list[str] = field(default_factory=list[str])
    asked: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    def add(self, match: re.Match[str]) -> None:
        agent = _agent(match)
        name = self.agents.setdefault(agent["name"].casefold(), agent)["name"]
        request = (name, match["prompt"].strip())
        if request not in self.asked:
            self.asked[request] = f"S{len(self.steps) + 1}"
            self.steps.append(
                {
                    "id": self.asked[request],
                    "agent": name,
                    "prompt": match["prompt"],
                    "depends_on": self._needed(match["needs"] or ""),
                    "output": {"kind": output_kind(match["prompt"])},
                }
            )
        self.numbers.append(self.asked[request])

    def _needed(self, numbers: str) -> list[str]:
        # A number that isn't earlier stands as it is, for the plan's own rules to refuse.
        known = dict(enumerate(self.numbers, 1))
        needs = {known.get(int(number), f"S{number}") for number in re.findall(r"\d+", numbers)}
        return sorted(needs, key=_number)


def _agent(match: re.Match[str]) -> dict[str, str]:
    name, persona = match["name"].strip(), (match["persona"] or "").strip()
    return {"name": name, "system_prompt": system_prompt(name, persona)}


def system_prompt(name: str, persona: str = "") -> str:
    """The system prompt of an agent that the plan says no more about."""
    return _SYSTEM.format(name=name, persona=f": {persona}" if persona else "")


def write_lines(plan: TaskIR) -> str:
    """Write a plan as lines: who does what, and what each step needs.

    Tiers, outputs, gates and system prompts other than `read_lines` makes are not said.

    Raises:
        PlanError: Names, prompts or dependencies would not be read back as they are.
    """
    personas = {agent.name: _persona(agent) for agent in plan.agents}
    lines: list[str] = []
    for number, step in enumerate(plan.steps, 1):
        needs = ", ".join(map(str, sorted(map(_number, step.depends_on))))
        persona = personas.pop(step.agent, "")
        lines.append(
            f"{number}. {step.agent}{persona}: {step.prompt}{f' (needs {needs})' if needs else ''}"
        )
    text = "\n".join(lines)
    if _graph(read_lines(text, plan.objective)) != _graph(plan):
        raise PlanError("The plan holds what lines can't say.", "Use its JSON form.", text)
    return text


def flat(plan: TaskIR) -> TaskIR:
    """Return a plan with each prompt in one line, as `write_lines` wants it."""
    steps = [
        step.model_copy(update={"prompt": " ".join(step.prompt.split())}) for step in plan.steps
    ]
    return plan.model_copy(update={"steps": tuple(steps)})


def _graph(plan: TaskIR) -> list[tuple[str, str, str, frozenset[str]]]:
    return [(step.id, step.agent, step.prompt, frozenset(step.depends_on)) for step in plan.steps]


def _number(step_id: str) -> int:
    return int(step_id.removeprefix("S"))


def _persona(agent: Agent) -> str:
    match = _SYSTEM_READ.fullmatch(agent.system_prompt)
    persona = match[1].removeprefix(": ") if match else ""
    return f" [{persona}]" if persona else ""


_ROUNDS = 2


def repetition_reason(text: str) -> str:
    """Say why a text so far repeats itself: two whole lines ask an agent what earlier ones ask it.

    Empty as long as it does not. One such line is left out when the plan is read; after a second
    a small model repeats itself until the grammar ends the plan.
    """
    asked = [asked_in(line) for line in text.split("\n")[:-1]]
    again = [line for n, line in enumerate(asked) if line is not None and line in asked[:n]]
    return f"{again[-1][1][:60]!r} is asked again and again" if len(again) >= _ROUNDS else ""
