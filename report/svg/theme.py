"""The look of drawings: colours, signs, labels and templates. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

from ...text import one_line, visible, width_of

__all__ = [
    "DARK",
    "LIGHT",
    "SIGNS",
    "Theme",
    "amount",
    "finished",
    "fitted",
    "harmless",
    "render_svg",
    "safe",
    "seconds",
    "style_sheet",
]


Theme = Literal["auto", "light"]
"""`auto` follows what the reader's system prefers; `light` is for a page that is light anyway."""

SIGNS: Mapping[str, str] = {
    "succeeded": "M2 6.5l3 3 5-6",
    "failed": "M3 3l6 6M9 3l-6 6",
    "skipped": "M2.5 3l3.5 3-3.5 3M6.5 3l3.5 3-3.5 3",
    "cancelled": "M2.5 6h7",
    "running": "M4 2.5l5.5 3.5L4 9.5z",
    "ready": "M6 2.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 1 1 0-7",
    "asked": "M4 4.2a2 2 0 1 1 2.6 1.9c-.5.2-.6.5-.6 1.1M6 9.4v.3",
    "waiting": "M6 3.5v2.5l2 1.2M6 1.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 1 1 0-9",
    "unfinished": "M2.8 6h.4M5.8 6h.4M8.8 6h.4",
}
"""Each status as a path in a square of 12, so that nothing depends on a colour alone."""

LIGHT: Mapping[str, str] = {
    "ground": "#ffffff",
    "raised": "#f8fafc",
    "text": "#0f172a",
    "muted": "#475569",
    "line": "#cbd5e1",
    "edge": "#94a3b8",
    "accent": "#1d4ed8",
    "work": "#2563eb",
    "wait": "#bfdbfe",
    "gates": "#7c3aed",
    "delay": "#94a3b8",
    "read": "#93c5fd",
    "succeeded": "#15803d",
    "failed": "#b91c1c",
    "skipped": "#7e22ce",
    "cancelled": "#7c4a1e",
    "running": "#1d4ed8",
    "ready": "#a8510a",
    "asked": "#0f766e",
    "waiting": "#475569",
    "unfinished": "#475569",
}
DARK: Mapping[str, str] = {
    "ground": "#11161f",
    "raised": "#1a212d",
    "text": "#e6eaf0",
    "muted": "#a7b3c4",
    "line": "#334155",
    "edge": "#64748b",
    "accent": "#8ab4ff",
    "work": "#5b93f5",
    "wait": "#2c436f",
    "gates": "#a78bfa",
    "delay": "#64748b",
    "read": "#3b5f9e",
    "succeeded": "#4ade80",
    "failed": "#f87171",
    "skipped": "#c99bfb",
    "cancelled": "#d9ab80",
    "running": "#7fb0ff",
    "ready": "#fbbf24",
    "asked": "#2dd4bf",
    "waiting": "#a7b3c4",
    "unfinished": "#a7b3c4",
}
_FONT = "ui-sans-serif,system-ui,-apple-system,Segoe UI,Roboto,Helvetica,Arial,sans-serif"


def style_sheet(theme: Theme) -> str:
    """Write the rules of a drawing. Its classes begin with `ps-`, so they mean nothing outside."""
    shapes = (
        f".ps text{{font-family:{_FONT};font-size:12px}}"
        ".ps-n{font-weight:600}.ps-small{font-size:11px!important}"
        ".ps-sign{fill:none;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}"
        ".ps-edge{fill:none;stroke-width:1.2}.ps-edge.ps-critical{stroke-width:3}"
        ".ps-box{stroke-width:1}.ps-box.ps-critical{stroke-width:3}"
        ".ps-grid{stroke-width:1}.ps-delay{fill:none;stroke-width:1.5;stroke-dasharray:2 3}"
        ".ps-hit:hover .ps-box,.ps-hit:hover .ps-lit{stroke-width:3}"
        ".ps-lit{stroke-width:0}.ps a{cursor:pointer}"
    )
    light = _colours(LIGHT)
    if theme == "light":
        return shapes + light
    return f"{shapes}{light}@media (prefers-color-scheme:dark){{{_colours(DARK)}}}"


def _colours(of: Mapping[str, str]) -> str:
    rules = [
        f".ps-ground{{fill:{of['ground']}}}",
        f".ps text{{fill:{of['text']}}}.ps text.ps-muted{{fill:{of['muted']}}}",
        f".ps-box{{fill:{of['raised']};stroke:{of['line']}}}",
        f".ps-group{{fill:none;stroke:{of['line']}}}",
        f".ps-edge{{stroke:{of['edge']}}}.ps-head{{fill:{of['edge']}}}",
        f".ps-edge.ps-critical,.ps-box.ps-critical{{stroke:{of['accent']}}}",
        f".ps-head.ps-critical,.ps-mark{{fill:{of['accent']}}}",
        f".ps-grid{{stroke:{of['line']}}}.ps-delay{{stroke:{of['delay']}}}",
        f".ps-hit:hover .ps-lit,.ps-hit:hover .ps-box{{stroke:{of['text']}}}",
    ]
    rules += [f".ps-{part}{{fill:{of[part]}}}" for part in ("work", "wait", "gates", "read")]
    rules += [f".ps-track{{fill:{of['line']}}}.ps-done{{fill:{of['succeeded']}}}"]
    rules += [f".ps-lost{{fill:{of['failed']}}}"]
    rules += [f".ps-delay-of{{fill:{of['delay']}}}"]
    rules += [f".ps-fail{{fill:{of['failed']}}}.ps-stripe{{stroke:{of['ground']}}}"]
    rules += [f".ps-sign.ps-{status}{{stroke:{of[status]}}}" for status in SIGNS]
    rules += [f".ps-edge-of.ps-{status}{{fill:{of[status]}}}" for status in SIGNS]
    return "".join(rules)


# One of these makes a whole drawing unreadable for a browser.
_NOT_IN_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def safe(text: str, limit: int = 400) -> str:
    """Write a text in one line that may stand in XML, once it is escaped."""
    return _NOT_IN_XML.sub("", one_line(text, limit))


def harmless(text: str) -> str:
    """Take out of a text what may not stand in XML or HTML, and what steers how it is shown."""
    return _NOT_IN_XML.sub("", visible(text))


def finished(value: object) -> object:
    """Return what a template puts into a document: texts are harmless, whatever they come from."""
    return harmless(value) if type(value) is str else value


def fitted(text: str, room: int) -> str:
    """Cut a text to the room that `room` Latin letters take."""
    line = safe(text, room + 1)
    if width_of(line) <= room:
        return line
    while line and width_of(line) > room - 1:
        line = line[:-1]
    return f"{line.rstrip('… ')}…"


def seconds(value: float) -> str:
    """Write seconds as short as a label has to be: 0.4 s, 12 s, 2:05, 1:02:05."""
    if value < 60:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def amount(count: float) -> str:
    """Write a count in few characters: 950, 12.3k, 4.1M."""
    if count < 1000:
        return f"{count:.0f}"
    if count < 999_500:
        return f"{count / 1000:.3g}k"
    return f"{count / 1e6:.3g}M"


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader(__name__.rpartition(".svg.")[0]),
        autoescape=True,
        finalize=finished,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_svg(template: str, theme: Theme, **values: Any) -> str:
    """Fill in a template of `templates/`; it knows the signs and the style sheet too."""
    filled = _environment().get_template(template)
    return filled.render(signs=SIGNS, style=style_sheet(theme), **values)
