"""Read the `step` lines of a pattern: agent, prompt, loop variables and needed steps.

step j = Judge: Compare {x} < a         one step; it needs all steps of a
step a[x] = {x} Expert: Describe {x}    one step for each entry of x
step e[f, l] = Teacher: Say {f} in {l}  one step for each pair
step v[l+] = Translator: To {l} // From {l|prev} to {l} < p
                                        a chain over l; the prompt of its first and later steps
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from .pattern import StepPattern, Variable
from .rules import check_slots
from .template import TemplateError, parse_template

__all__ = ["read_step"]

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
