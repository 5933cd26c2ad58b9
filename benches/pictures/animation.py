"""Frames of a terminal as an animated SVG, which loops without a script. Pure.

All frames stand side by side behind a window of one frame's width, and CSS moves them along, as
svg-term does. Who asks for reduced motion sees the last frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from types import MappingProxyType

from pictures.frames import Frame
from pictures.terminal import Line, Look, Span

__all__ = ["draw_frames"]

_CELL_W, _CELL_H, _FONT = 8.4, 18, 14
_BASELINE = 13.5
_PAD, _BAR = 16, 32
_GAP = 20
"""Between frames, since letters reach a little beyond their cells."""
_FAMILY = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_TEXT, _WINDOW, _EDGE = "#d7dce5", "#171b24", "#4a5266"
_BUTTONS = ("#ff5f57", "#febc2e", "#28c840")
_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "default": _TEXT,
        "foreground": _TEXT,
        "background": _WINDOW,
        "black": "#3b4252",
        "red": "#f07178",
        "green": "#8ccf7e",
        "brown": "#e5c76b",
        "blue": "#74a8f0",
        "magenta": "#c792ea",
        "cyan": "#67cbe7",
        "white": "#e6eaf2",
        "brightblack": "#8791a6",
        "brightred": "#ff8b92",
        "brightgreen": "#a8e59a",
        "brightbrown": "#f4d98a",
        "brightblue": "#96c1ff",
        "brightmagenta": "#dbb1f8",
        "brightcyan": "#8fdef3",
        "brightwhite": "#ffffff",
    }
)


def draw_frames(
    frames: Sequence[Frame], *, columns: int, rows: int, end_s: float, label: str
) -> str:
    """Draw an animation.

    Args:
        frames: In the order of their times; the first begins at 0.
        columns: The width of the terminal in characters.
        rows: The height of the terminal in lines.
        end_s: Seconds that the last frame stays before it begins again.
        label: What it shows, for who can't see it.
    """
    inner_w, inner_h = round(columns * _CELL_W), rows * _CELL_H
    step = inner_w + _GAP
    width, height = inner_w + 2 * _PAD, inner_h + _BAR + _PAD
    lines = {line: f"l{number}" for number, line in enumerate(_lines(frames))}
    looks = {look: f"k{number}" for number, look in enumerate(_looks(lines))}
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">',
            f"<title>{escape(label)}</title>",
            "<style>",
            f"text{{font:{_FONT}px {_FAMILY}}}",
            *(f".{name}{{{_css(look)}}}" for look, name in looks.items()),
            *_animation(frames, step, end_s),
            "</style>",
            *_window(width, height),
            "<defs>",
            *(_definition(line, name, looks) for line, name in lines.items()),
            "</defs>",
            f'<svg x="{_PAD}" y="{_BAR}" width="{inner_w}" height="{inner_h}"><g class="strip">',
            *(_screen(frame, lines, number * step) for number, frame in enumerate(frames)),
            "</g></svg>",
            "</svg>",
            "",
        )
    )


def _lines(frames: Sequence[Frame]) -> dict[Line, None]:
    """All lines that are not empty, each once."""
    return dict.fromkeys(line for frame in frames for line in frame.lines if line)


def _looks(lines: Mapping[Line, str]) -> dict[Look, None]:
    return dict.fromkeys(span.look for line in lines for span in line if span.look != Look())


def _animation(frames: Sequence[Frame], step: int, end_s: float) -> Iterator[str]:
    all_s = frames[-1].at_s + end_s
    last = f"transform:translateX({-(len(frames) - 1) * step}px)"
    yield f".strip{{fill:{_TEXT};{last};animation:play {all_s:.2f}s step-end infinite}}"
    moments = (
        f"{frame.at_s / all_s:.3%}{{transform:translateX({-number * step}px)}}"
        for number, frame in enumerate(frames)
    )
    yield f"@keyframes play{{{''.join(moments)}100%{{{last}}}}}"
    yield "@media (prefers-reduced-motion:reduce){.strip{animation:none}}"


def _window(width: int, height: int) -> Iterator[str]:
    yield (
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"'
        f' fill="{_WINDOW}" stroke="{_EDGE}"/>'
    )
    for number, colour in enumerate(_BUTTONS):
        yield f'<circle cx="{20 + 18 * number}" cy="16" r="5.5" fill="{colour}"/>'


def _definition(line: Line, name: str, looks: Mapping[Look, str]) -> str:
    return f'<g id="{name}">{"".join(_span(span, looks.get(span.look, "")) for span in line)}</g>'


def _span(span: Span, name: str) -> str:
    x, width = f"{span.column * _CELL_W:g}", f"{span.columns * _CELL_W:g}"
    ground = ""
    if span.look.ground != "default":
        colour = _colour(span.look.ground)
        ground = f'<rect x="{x}" width="{width}" height="{_CELL_H}" fill="{colour}"/>'
    kind = f' class="{name}"' if name else ""
    if span.text.strip("█") == "":
        # Letters would leave gaps between the blocks.
        return f'{ground}<rect{kind} x="{x}" y="1" width="{width}" height="{_CELL_H - 2}"/>'
    # Whatever font is there, columns stay below each other.
    fitted = f' textLength="{width}"' if len(span.text) > 1 else ""
    return f'{ground}<text{kind} x="{x}" y="{_BASELINE}"{fitted}>{escape(span.text, False)}</text>'


def _screen(frame: Frame, lines: Mapping[Line, str], x: int) -> str:
    uses = (
        f'<use href="#{lines[line]}" y="{row * _CELL_H}"/>'
        for row, line in enumerate(frame.lines)
        if line
    )
    return f'<g transform="translate({x})">{"".join(uses)}</g>'


def _css(look: Look) -> str:
    rules = [f"fill:{_colour(look.colour)}"]
    rules += ["font-weight:bold"] * look.bold
    rules += ["opacity:.62"] * look.dim
    rules += ["text-decoration:underline"] * look.underlined
    return ";".join(rules)


def _colour(name: str) -> str:
    return _COLOURS.get(name, f"#{name}")
