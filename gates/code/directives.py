"""Comments that tell a tool what not to look at: in what a model wrote they don't count. Pure."""

from __future__ import annotations

import io
import re
import tokenize

__all__ = ["without_pyright_directives", "without_shellcheck_directives"]

_SHELLCHECK = re.compile(r"^([ \t]*+#[ \t]*+)shellcheck([ \t]++.*)$", re.MULTILINE)
# These say what a script is, and hide nothing.
_HARMLESS = ("shell=", "source=", "source-path=", "external-sources=")
_COMMENT = re.compile(r"#[^\n]*+")
_LONGEST_LINE = 1000
"""The tokenizer takes time by the square of a line that ends within a string."""
_PYRIGHT = re.compile(r"pyright(\s*+:)")


def without_shellcheck_directives(script: str) -> str:
    """Make plain comments of the directives that hide something; places stay as they are."""
    return _SHELLCHECK.sub(_hidden, script)


def _hidden(match: re.Match[str]) -> str:
    words = match[2].partition("#")[0].split()
    return match[0] if all(map(_is_harmless, words)) else f"{match[1]}ShellCheck{match[2]}"


def _is_harmless(word: str) -> bool:
    return word.startswith(_HARMLESS)


def without_pyright_directives(text: str) -> str:
    """Make plain comments of `# pyright: …`; places stay as they are."""
    lines = text.splitlines(keepends=True)
    if max(map(len, lines), default=0) > _LONGEST_LINE:
        # What looks like a comment within a string is changed as well: nobody reads it here.
        return _COMMENT.sub(lambda comment: _PYRIGHT.sub(r"Pyright\1", comment[0]), text)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                row, start = token.start[0] - 1, token.start[1]
                before, comment = lines[row][:start], lines[row][start:]
                lines[row] = before + _PYRIGHT.sub(r"Pyright\1", comment)
    except (tokenize.TokenError, SyntaxError, ValueError, IndexError):
        return text  # What can't be read has errors that no comment hides.
    return "".join(lines)
