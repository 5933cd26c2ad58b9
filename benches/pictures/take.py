"""Take the pictures of the docs: `make screenshots`, or some: `make screenshots PICTURES="report"`.

Runs with scripted models are done against a Prefect server of its own. Each picture is an address,
how large the window is, and what is clicked first. PNG files are written to `docs/images/`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import httpx
from browsers import browser
from own_prefect import OwnServer

__all__ = ["PICTURES", "Picture"]

IMAGES = Path(__file__).parents[2] / "docs" / "images"


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture of the docs.

    Attributes:
        name: The file without its suffix.
        address: With `{report}`, `{notebook}` and `{turns}` for files; for Prefect's UIs `{ui}`,
            `{run}`, `{undone}` and `{automation}`, and the ids of the artifacts `{answer}`,
            `{plan}`, `{timeline}`, `{s1}` and `{batch}`.
        until: A selector or a text that is waited for, and some seconds more, since the UIs go on
            asking; "" for none.
        at: A selector that is scrolled to; "" for the beginning.
        opens: A selector of what is opened first.
    """

    name: str
    address: str
    width: int = 1280
    height: int = 900
    scheme: Literal["light", "dark"] = "light"
    until: str = ""
    at: str = ""
    opens: str = ""


_CALL, _ATTEMPT = "text=departures", "text=Attempt 1 >> nth=0"
PICTURES: Sequence[Picture] = (
    Picture("report", "{report}", height=1000),
    Picture("report-timeline", "{report}", at="#page-timeline", height=800, scheme="dark"),
    Picture("report-step", "{report}", at="#page-S4", opens="#page-S4", height=800),
    Picture("report-turns", "{turns}", at="#page-timeline", height=430),
    Picture("report-phone", "{report}", width=390, height=844),
    Picture("notebook", "{notebook}", height=900),
    Picture("ui-v1-answer", "{ui}/artifacts/artifact/{answer}", until="text=See also"),
    Picture("ui-v1-timeline", "{ui}/artifacts/artifact/{timeline}", until="text=See also"),
    Picture("ui-v2-run", "{ui}/v2/runs/flow-run/{run}?tab=Artifacts", until="text=swarm-answer"),
    Picture("ui-v2-plan", "{ui}/v2/artifacts/artifact/{plan}", until="text=See also"),
    Picture("ui-v2-calls", "{ui}/v2/artifacts/artifact/{s1}", until=_CALL, at=_ATTEMPT),
    Picture("undo", "{ui}/runs/flow-run/{undone}", height=660, scheme="dark", until="text=Logs"),
    Picture(
        "automation",
        "{ui}/automations/automation/{automation}",
        width=1100,
        height=540,
        scheme="dark",
        until="text=Call webhook",
    ),
    Picture(
        "batch",
        "{ui}/artifacts/artifact/{batch}",
        width=1100,
        scheme="dark",
        until="text=Ended",
    ),
    Picture("ui-v1-calls", "{ui}/artifacts/artifact/{s1}", until=_CALL, at=_ATTEMPT),
)
_SETTLE_MS = 4000
_CELL = """<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Notebook</title>
<body style="margin:0;padding:24px;background:#fff;font:14px/1.5 sans-serif">
<pre style="background:#f5f5f5;border:1px solid #ddd;border-radius:4px;padding:10px 12px">result = \
await swarm("Compare trains, buses and bicycles as a way to travel from Lübeck to Hamburg")
result</pre>{}</body></html>"""


def take(names: Sequence[str]) -> None:
    """Take the pictures of these names, or all.

    Raises:
        SystemExit: A name is unknown.
    """
    known = {picture.name: picture for picture in PICTURES}
    if wrong := [name for name in names if name not in known]:
        raise SystemExit(f"No picture {', '.join(wrong)}. There are {', '.join(known)}.")
    chosen = [known[name] for name in names] or [*PICTURES]
    with TemporaryDirectory() as folder, _served(Path(folder)) as places, browser() as running:
        for picture in chosen:
            _take(running, picture, places)
            print(f"docs/images/{picture.name}.png")


@contextmanager
def _served(folder: Path) -> Generator[dict[str, str]]:
    """Do the run against a server, and yield what addresses are made of."""
    server = OwnServer(folder)
    server.start()
    try:
        environment = server.environment | {
            "PREFECT_INTEGRATIONS_SWARM_HOME": str(folder / "swarm")
        }
        here = Path(__file__).parent
        run = _output([sys.executable, str(here / "journey.py")], environment)
        in_turns = _output([sys.executable, str(here / "ledger.py")], environment)
        ledger = str(folder / "ledger")
        undone = _output([sys.executable, str(here / "undone.py"), ledger], environment)
        batch = _output([sys.executable, str(here / "batched.py"), str(folder / "b")], environment)
        automation = _output([sys.executable, str(here / "notified.py")], environment)
        names = {name: folder / f"{name}.html" for name in ("report", "notebook", "turns")}
        for name, path in names.items():
            shown = in_turns if name == "turns" else run
            code = (
                "import sys; from prefect_swarm import report_html; "
                f"sys.stdout.write(report_html({shown!r}, fragment={name == 'notebook'}))"
            )
            document = _output([sys.executable, "-c", code], environment)
            text = _CELL.replace("{}", document) if name == "notebook" else document
            path.write_text(text, "utf-8")
        files = {name: path.as_uri() for name, path in names.items()}
        artifacts = _artifacts(server.url, run) | _artifacts(server.url, batch)
        ids = {"run": run, "undone": undone, "automation": automation}
        yield {**files, **artifacts, **ids, "ui": server.url.removesuffix("/api")}
    finally:
        server.stop()


def _artifacts(api: str, run: str) -> dict[str, str]:
    """Return the ids of a run's pages by their names."""
    wanted = {"artifacts": {"flow_run_id": {"any_": [run]}, "type": {"any_": ["markdown"]}}}
    found = httpx.post(f"{api}/artifacts/filter", json=wanted).raise_for_status().json()
    return {str(each["key"]).split("-")[1]: str(each["id"]) for each in found}


def _output(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout.strip()


def _take(running: Any, picture: Picture, places: dict[str, str]) -> None:
    size = {"width": picture.width, "height": picture.height}
    page = running.new_page(viewport=size, color_scheme=picture.scheme, reduced_motion="reduce")
    page.goto(picture.address.format(**places))
    if picture.until:
        page.locator(picture.until).first.wait_for(timeout=60_000)
        page.wait_for_timeout(_SETTLE_MS)
    if picture.opens:
        page.locator(picture.opens).evaluate("each => each.open = true")
    if picture.at:
        page.locator(picture.at).evaluate("each => each.scrollIntoView()")
    IMAGES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(IMAGES / f"{picture.name}.png"), animations="disabled")
    page.close()


if __name__ == "__main__":
    take(sys.argv[1:])
