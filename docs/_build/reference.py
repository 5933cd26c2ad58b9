"""Write the reference pages that are made from the code: `python docs/_build/reference.py`.

With `--check` nothing is written, and the exit code is 1 if a page is stale.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from command_pages import command_page
from model_pages import option_page, plan_page, setting_page
from source_pages import package_page, python_page

__all__ = ["PAGES", "stale"]

FOLDER = Path(__file__).parents[1] / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "cli.md": command_page,
    "options.md": option_page,
    "plan_language.md": plan_page,
    "settings.md": setting_page,
    "python.md": python_page,
    "packages.md": package_page,
}
"""What each generated page is made by."""


def stale() -> list[str]:
    """Return the generated pages that aren't what the code gives now."""
    return [name for name, make in PAGES.items() if _text(FOLDER / name) != make()]


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _main() -> int:
    names = stale()
    if "--check" not in sys.argv:
        for name in names:
            (FOLDER / name).write_text(PAGES[name](), "utf-8")
    for name in names:
        print(f"{'stale' if '--check' in sys.argv else 'written'}: {name}")  # noqa: T201
    return int("--check" in sys.argv and bool(names))


if __name__ == "__main__":
    sys.exit(_main())
