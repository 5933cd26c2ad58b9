"""Read the blocks of a pattern, and its `step` lines."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ....errors import InputError
from .lists import WordList, line_error
from .pattern import Pattern, StepPattern, Variable
from .template import Template, TemplateError, parse_template
from .variables import check_slots, read_variable

__all__ = ["read_patterns", "read_step"]


_LATER = " // "
_STEP = re.compile(
    r"(?P<label>[a-z][a-z0-9_]*)(?:\[(?P<loop>[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*)"
    r"(?P<chain>\+)?\])?\s*=\s*(?P<agent>.+?):\s+(?P<prompt>.+?)"
    r"(?:\s+<\s+(?P<needs>[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*))?"
)


def read_step(
    line: str, number: int, variables: Mapping[str, Variable], labels: Collection[str]
) -> StepPattern:
    """Read a line without its `step`; `labels` are those of the earlier steps.

    Raises:
        TemplateError: It names an unknown step or variable, or breaks a rule.
    """
    match = _STEP.fullmatch(line)
    if match is None:
        raise TemplateError(f"{line[:40]!r} is not a step")
    if match["label"] in labels:
        raise TemplateError(f"step {match['label']} is defined twice")
    loop_variables = tuple(
        _root_of(name, variables) for name in re.findall(r"\w+", match["loop"] or "")
    )
    needs = tuple(re.findall(r"\w+", match["needs"] or ""))
    if unknown := [need for need in needs if need not in labels]:
        raise TemplateError(f"it needs {unknown[0]}, which is not a step before it")
    prompt_text, _, later_text = match["prompt"].partition(_LATER)
    if later_text and not match["chain"]:
        raise TemplateError("only a chain, `[x+]`, has a prompt for its later steps")
    agent, prompt = parse_template(match["agent"]), parse_template(prompt_text)
    for template in (agent, prompt):
        check_slots(template, variables, loop_variables)
    later_prompt = parse_template(later_text) if later_text else prompt
    if later_text:
        check_slots(later_prompt, variables, loop_variables, later=True)
    is_chain = bool(match["chain"])
    return StepPattern(
        match["label"], loop_variables, is_chain, agent, prompt, later_prompt, needs, number
    )


def _root_of(name: str, variables: Mapping[str, Variable]) -> str:
    if name not in variables or not variables[name].is_plural:
        raise TemplateError(f"{name} is not a variable with several entries")
    return variables[name].root


_FIXES = {
    "kind": "Write `kind name` once a block, the name in snake_case.",
    "with": "Write `with x = list`, `with x = 2..5 list/list`, `with x = this | that`, "
    "`with k = 3..8 count` or `with y = each x list`.",
    "ask": "Write `ask` and the objective; escape a plain `<`, `{` or `|` with a backslash.",
    "step": "Write `step label[x] = Agent: Prompt < label, label`.",
}
_Lines = Sequence[tuple[int, str]]


def read_patterns(
    text: str, file: str, lists: Mapping[str, WordList]
) -> Iterator[Pattern | InputError]:
    """Yield the patterns of a file; for a block that breaks a rule, yield its first error."""
    for lines in _split_blocks(text):
        try:
            yield _read_pattern(file, lines, lists)
        except InputError as error:
            yield error


def _split_blocks(text: str) -> Iterator[_Lines]:
    block: list[tuple[int, str]] = []
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = raw.strip()
        if line and not line.startswith("#"):
            block.append((number, line))
        elif not line and block:
            yield block
            block = []


@dataclass
class _Block:
    lists: Mapping[str, WordList]
    kind: str = ""
    variables: dict[str, Variable] = field(default_factory=dict[str, Variable])
    asks: list[Template] = field(default_factory=list[Template])
    steps: dict[str, StepPattern] = field(default_factory=dict[str, StepPattern])

    def add(self, word: str, line: str, number: int) -> None:
        if word == "kind":
            if self.kind or not re.fullmatch(r"[a-z][a-z0-9_]*", line):
                raise TemplateError(f"{line[:40]!r} is not a kind, or not the block's only one")
            self.kind = line
        elif word == "with":
            variable = read_variable(line, self.variables, self.lists)
            self.variables[variable.name] = variable
        elif word == "ask":
            template = parse_template(line)
            check_slots(template, self.variables)
            self.asks.append(template)
        else:
            step = read_step(line, number, self.variables, self.steps)
            self.steps[step.label] = step

    def missing_keyword(self) -> str:
        parts = {"kind": self.kind, "ask": self.asks, "step": self.steps}
        return next((word for word, found in parts.items() if not found), "")


def _read_pattern(file: str, lines: _Lines, lists: Mapping[str, WordList]) -> Pattern:
    block = _Block(lists)
    for number, line in lines:
        word, _, rest = line.partition(" ")
        if word not in _FIXES:
            fix = "Begin a line with kind, with, ask or step; a blank line ends a block."
            raise line_error(file, number, f"{line[:60]!r} is not a line of a pattern.", fix)
        try:
            block.add(word, rest.strip(), number)
        except TemplateError as error:
            raise line_error(file, number, f"{error}.", _FIXES[word]) from None
    start = lines[0][0]
    if word := block.missing_keyword():
        raise line_error(file, start, f"The block has no {word} line.", _FIXES[word])
    text = "\n".join(line for _, line in lines)
    steps = tuple(block.steps.values())
    return Pattern(block.kind, file, start, text, block.variables, tuple(block.asks), steps)
