"""Runs in the sandbox: one call's code, with the variables of the calls before it.

It knows nothing of this package, and a model can forge what it returns: its reader trusts
nothing.
"""

from __future__ import annotations

import ast
import io
import json
import linecache
import os
import pickle
import stat
import sys
import traceback
import types
from collections.abc import Iterator
from typing import Any

_STATE, _RESULT, _FOLDER = "state.pickle", "result", "work"
_INPUTS = "inputs"
_FRAMES = 8
_DEPTH = 8
_OWN_NAMES = frozenset(vars(types.ModuleType("__main__")))


class _TooLargeError(Exception):
    pass


class _BoundedBytes(io.BytesIO):
    """Takes so many bytes and no more."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > self._most:
            raise _TooLargeError
        return super().write(data)


class _BoundedText(io.TextIOWrapper):
    """Passes so many characters on, and takes the others without an error."""

    room = 0

    def write(self, text: str, /) -> int:
        if fitting := text[: self.room]:
            self.room -= len(fitting)
            super().write(fitting)
        return len(text)


def main() -> None:
    """Run the code of `job.json`, and leave what it came to in a file."""
    with open("job.json", encoding="utf-8") as file:
        job: dict[str, Any] = json.load(file)
    here = os.getcwd()
    sys.path += [path for path in job["packages"] if path not in sys.path]
    state = _read_once(os.path.join(here, _STATE))
    names = _enter(os.path.join(here, _FOLDER), job["characters"])
    result: dict[str, Any] = {"value": None, "error": "", "not_kept": {}}
    if state and (problem := _restore(state, names)):
        result["not_kept"] = {"all variables of earlier calls": problem}
    result["value"], result["error"] = _execute(job["code"], job["label"], names)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    pickled, left_out = _pickled(names, job["state_bytes"])
    files, refused = _written_files(os.path.join(here, _FOLDER), job)
    result["not_kept"] |= left_out
    result |= {"files": list(files), "refused": refused}
    _write(os.path.join(here, _RESULT), result, [pickled, *files.values()])
    os._exit(0)


def _read_once(path: str) -> bytes:
    """Return a file's content, and remove it: the folder's room is the code's."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return b""
    os.unlink(path)
    return data


def _enter(folder: str, characters: int) -> dict[str, Any]:
    """Go where the code is to run, and return the names that it will have."""
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    sys.path.append(folder)
    sys.argv[:] = [""]
    for name in ("stdout", "stderr"):
        stream = _BoundedText(getattr(sys, name).buffer, encoding="utf-8", errors="replace")
        stream.room = characters
        setattr(sys, name, stream)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    return vars(module)


def _execute(code: str, label: str, names: dict[str, Any]) -> tuple[str | None, str]:
    """Run code; return how its last expression looks, if it ends with a value, and its error."""
    linecache.cache[label] = (len(code), None, code.splitlines(keepends=True), label)
    try:
        tree = ast.parse(code, label)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, label, "exec", dont_inherit=True), names)  # noqa: S102 - the sandbox
        if not isinstance(last, ast.Expr):
            return None, ""
        expression = compile(ast.Expression(last.value), label, "eval", dont_inherit=True)
        value = eval(expression, names)  # noqa: S307 - the sandbox
        return None if value is None else repr(value), ""
    except BaseException as error:  # noqa: BLE001 - whatever a model's code raises
        return None, _described(error)


def _described(error: BaseException) -> str:
    """Return an error as a traceback of the calls' own lines: a library's say little."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith("<call ")
    ]
    try:
        last = "".join(traceback.format_exception_only(error))
    except BaseException:  # noqa: BLE001 - its message is the model's code, too
        last = f"{type(error).__name__}\n"
    return "".join([*traceback.format_list(frames[-_FRAMES:]), last]).rstrip()


def _restore(state: bytes, names: dict[str, Any]) -> str:
    """Bring the variables back; return why that can't be done, or ""."""
    try:
        names.update(_loaded(state, names))
    except BaseException as error:  # noqa: BLE001 - what is loaded runs code
        return f"{type(error).__name__}: {error}"
    return ""


def _pickled(names: dict[str, Any], most: int) -> tuple[bytes, dict[str, str]]:
    """Return what can be kept of the variables, together, and why the others can't be."""
    wanted = {
        name: value
        for name, value in names.items()
        # A file that was read or written to its end is no use to any call, and no news either.
        if name not in _OWN_NAMES and not (isinstance(value, io.IOBase) and value.closed)
    }
    if (whole := _dumped(wanted, names, most)) and not isinstance(whole, str):
        return whole, {}
    sizes: dict[str, int] = {}
    left_out: dict[str, str] = {}
    for name, value in wanted.items():
        found = _dumped({name: value}, names, most)
        if isinstance(found, str):
            left_out[name] = found
        else:
            sizes[name] = len(found)
    for name in sorted(sizes, key=sizes.__getitem__):
        most -= sizes[name]
        if most < 0:
            left_out[name] = "too large, with the others"
    rest = {name: value for name, value in wanted.items() if name not in left_out}
    together = _dumped(rest, names, 1 << 40)
    if isinstance(together, str):
        return b"", {**left_out, **dict.fromkeys(rest, together)}
    return together, left_out


def _dumped(values: dict[str, Any], names: dict[str, Any], most: int) -> bytes | str:
    """Return values as bytes that can be loaded again, or why that can't be."""
    import cloudpickle

    class _Pickler(cloudpickle.Pickler):
        """Functions go with their code, and find their variables in the restored ones."""

        def __init__(self, file: io.BytesIO) -> None:
            super().__init__(file)  # pyright: ignore[reportUnknownMemberType]
            found: dict[int, Any] = self.globals_ref  # pyright: ignore[reportUnknownMemberType]
            found[id(names)] = names

        def persistent_id(self, obj: Any) -> str | None:
            return "names" if obj is names else None

    file = _BoundedBytes(most)
    try:
        _Pickler(file).dump(values)  # pyright: ignore[reportUnknownMemberType]
        data = file.getvalue()
        # Some things can be written and not be read, such as errors with arguments of their own.
        _loaded(data, dict(names))
    except _TooLargeError:
        return "too large"
    except BaseException as error:  # noqa: BLE001 - objects say themselves how they are kept
        return f"{type(error).__name__}: {error}"[:200]
    return data


def _loaded(data: bytes, names: dict[str, Any]) -> dict[str, Any]:
    class _Unpickler(pickle.Unpickler):
        def persistent_load(self, pid: Any) -> Any:  # noqa: ARG002 - it is always the names
            return names

    found: dict[str, Any] = _Unpickler(io.BytesIO(data)).load()
    return found


def _written_files(folder: str, job: dict[str, Any]) -> tuple[dict[str, bytes], dict[str, str]]:
    try:
        return _files(folder, job)
    except OSError as error:
        return {}, {"the folder": f"{type(error).__name__}: {error}"}


def _files(folder: str, job: dict[str, Any]) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return the plain files of the folder that fit, by their paths, and why others don't."""
    files: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    room: int = job["file_bytes"]
    for path in _walk(folder, ""):
        size = os.lstat(os.path.join(folder, path)).st_size
        if len(files) == job["files"]:
            refused[path] = f"more than {job['files']} files"
        elif size > room:
            refused[path] = "no room"
        else:
            with open(os.path.join(folder, path), "rb") as file:
                files[path] = file.read(room)
            room -= len(files[path])
        if len(refused) == job["files"]:
            break
    return files, refused


def _walk(folder: str, below: str) -> Iterator[str]:
    for name in sorted(os.listdir(os.path.join(folder, below))):
        path = f"{below}{name}"
        mode = os.lstat(os.path.join(folder, path)).st_mode
        if name.startswith(".") or path == _INPUTS:
            continue
        if stat.S_ISREG(mode):
            yield path
        elif stat.S_ISDIR(mode) and name != "__pycache__" and path.count("/") < _DEPTH:
            yield from _walk(folder, f"{path}/")


def _write(path: str, result: dict[str, Any], blobs: list[bytes]) -> None:
    head = json.dumps({"header": result, "sizes": [len(blob) for blob in blobs]}).encode()
    with open(path, "wb") as file:
        file.writelines([len(head).to_bytes(8, "big"), head, *blobs])


if __name__ == "__main__":
    main()
