"""The `step` lines of a pattern: who does what, for each entry of what, after which steps.

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
    r"(?P<label>[a-z][a-z0-9_]*)(?:\[(?P<over>[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*)"
    r"(?P<chained>\+)?\])?\s*=\s*(?P<agent>.+?):\s+(?P<prompt>.+?)"
    r"(?:\s+<\s+(?P<needs>[a-z][a-z0-9_]*(?:\s*,\s*[a-z][a-z0-9_]*)*))?"
)


def read_step(
    line: str, number: int, variables: Mapping[str, Variable], labels: Collection[str]
) -> StepPattern:
    """Read a line without its `step`; `labels` are those of the steps before it.

    Raises:
        TemplateError: It needs a step or a variable there is none of, or breaks a rule.
    """
    match = _STEP.fullmatch(line)
    if match is None:
        raise TemplateError(f"{line[:40]!r} is no step")
    if match["label"] in labels:
        raise TemplateError(f"step {match['label']} is there twice")
    over = tuple(_root(name, variables) for name in re.findall(r"\w+", match["over"] or ""))
    needs = tuple(re.findall(r"\w+", match["needs"] or ""))
    if unknown := [need for need in needs if need not in labels]:
        raise TemplateError(f"it needs {unknown[0]}, which is no step before it")
    said, _, later = match["prompt"].partition(_LATER)
    if later and not match["chained"]:
        raise TemplateError("only a chain, `[x+]`, has a prompt for its later steps")
    agent, prompt = parse_template(match["agent"]), parse_template(said)
    for template in (agent, prompt):
        check_slots(template, variables, over)
    following = parse_template(later) if later else prompt
    if later:
        check_slots(following, variables, over, later=True)
    chained = bool(match["chained"])
    return StepPattern(match["label"], over, chained, agent, prompt, following, needs, number)


def _root(name: str, variables: Mapping[str, Variable]) -> str:
    if name not in variables or not variables[name].plural:
        raise TemplateError(f"{name} is no variable of several entries")
    return variables[name].root
