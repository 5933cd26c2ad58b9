"""Record the README's first run in a terminal, and draw it: `make cast`.

`build/run.cast` is the recording, which players of asciicast files play; `docs/images/run.svg` is
the animation, with its waits cut short.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from pictures.animation import draw_frames
from pictures.asciicast import written_cast
from pictures.frames import frames, shortened
from pictures.hand_mill import MODEL, OBJECTIVE, hand_mill
from pictures.recorded import record

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "run.svg"
RECORDING = ROOT / "build" / "run.cast"
PORT = 8000
COLUMNS, ROWS = 110, 30
WAIT_S, END_S = 0.8, 4.0
_LABEL = "A terminal: prefect-swarm run with an objective, the board of its steps, then the answer"


def main() -> None:
    """Record the run, and write both files."""
    command = f'prefect-swarm run "{OBJECTIVE}" --model openai:{MODEL}@http://localhost:{PORT}/v1'
    with TemporaryDirectory(ignore_cleanup_errors=True) as home, hand_mill(PORT):
        cast = record(command, _environment(Path(home)), columns=COLUMNS, rows=ROWS)
    RECORDING.parent.mkdir(exist_ok=True)
    RECORDING.write_text(written_cast(cast), "utf-8")
    shown = shortened(frames(cast), WAIT_S)
    picture = draw_frames(shown, columns=COLUMNS, rows=ROWS, end_s=END_S, label=_LABEL)
    PICTURE.write_text(picture, "utf-8")
    for path in (RECORDING, PICTURE):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")
    print(f"{len(shown)} frames, {shown[-1].at_s + END_S:.1f} s")


def _environment(home: Path) -> Mapping[str, str]:
    """Return the environment of a user who runs it for the first time."""
    others = {name: text for name, text in os.environ.items() if not name.startswith("PREFECT_")}
    return {
        **others,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "TERM": "xterm-256color",
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_INTEGRATIONS_SWARM_HOME": str(home / "swarm"),
    }


if __name__ == "__main__":
    main()
