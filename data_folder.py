"""The data folder as commands need it: to be read, or to be written too; its owner's alone."""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Literal

from .errors import InputError
from .files import OWNER_FOLDER, close_to_others, is_shared_mode, try_folder
from .settings import home, home_variable

__all__ = ["FolderUse", "check_data_folder", "check_owner", "foreign_owner", "own_data_folder"]


FolderUse = Literal["read", "write"]
"""What a command does with the folder."""

_OURS = frozenset(
    {"adapters", "evals", "gates", "mcp-logins", "memory", "personas", "prefixes"}
    | {"procedures", "runs", "sandbox", "served", "server.log", "slots", "training", "weights"}
    | {"workspaces"}
)
"""What is in a data folder. One that has anything else is not ours alone."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_BEING_CLOSED = OWNER_FOLDER | stat.S_ISVTX
_ROOT, _UNKNOWN = 0, 65534
"""Users by their numbers. A container shows those as the second that it doesn't know."""

_logger = logging.getLogger("prefect_swarm.runs")


def check_data_folder(use: FolderUse) -> Path:
    """Return the data folder after finding out whether it can be used; to be written it is made.

    Raises:
        InputError: It can't be used; says which folder, why, and what to do.
    """
    folder = home()
    own_data_folder(folder)
    try:
        if use == "write":
            try_folder(folder)
        else:
            next(folder.iterdir(), None)
    except FileNotFoundError as error:
        # A folder that isn't there yet is an empty one.
        if use == "write" or folder.is_symlink():
            raise _unusable(folder, use, error) from None
    except OSError as error:
        raise _unusable(folder, use, error) from None
    return folder


def own_data_folder(folder: Path) -> None:
    """Make a data folder its owner's alone, if it is there, and what older versions left in it.

    It costs two looks at the folder where nothing is to be done. A person who shares the folder
    with its group has set its setgid bit; so it stays.

    Raises:
        InputError: It is another user's, or everybody may write to it.
    """
    try:
        found, link = folder.stat(), folder.lstat()
    except OSError:
        return  # It isn't there yet, or its user says what is wrong.
    if not stat.S_ISDIR(found.st_mode):
        return
    user = os.geteuid()
    for looked_at in (found, link):
        check_owner(folder, looked_at.st_uid, user)
    is_closed = not found.st_mode & (_OTHERS | stat.S_ISVTX)
    if is_closed or is_shared_mode(found.st_mode):
        return
    names = set(_names(folder))
    may_close = found.st_uid == user and names <= _OURS
    if not may_close and found.st_mode & stat.S_IWOTH:
        raise InputError(
            f"Everybody may write to the data folder {folder}, so that anybody could put runs and "
            "answers into it.",
            f"Set {home_variable()} to a folder of your own, such as one in it.",
        )
    if may_close:
        _close_tree(folder)
        return
    for name in names & _OURS:
        _close_tree(folder / name)


def check_owner(folder: Path, owner: int, user: int) -> None:
    """Refuse a folder whose owner could change what is in it; root is warned.

    Raises:
        InputError: It is another user's.
    """
    if not foreign_owner(owner, user):
        return
    problem = f"The data folder {folder} belongs to user {owner}, and you are user {user}"
    if user == _ROOT:
        _logger.warning("%s: that user can read and change all of it.", problem)
        return
    raise InputError(
        f"{problem}: its owner can read and change all of it.",
        f"Set {home_variable()} to a folder of your own.",
    )


def foreign_owner(owner: int, user: int) -> bool:
    """Say whether an owner is somebody who may not have what a user does. Pure."""
    return owner not in (user, _ROOT, _UNKNOWN)


def _names(folder: Path) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []


def _close_tree(top: Path) -> None:
    """Close what is in a folder, and the folder first: from then on nobody else gets into it.

    Its sticky bit says that the rest isn't done, in case the process ends meanwhile. Links stay as
    they are, and so does what they lead to.
    """
    with suppress(OSError):
        mode = top.lstat().st_mode
        if stat.S_ISREG(mode):
            close_to_others(top)
        if not stat.S_ISDIR(mode) or not mode & (_OTHERS | stat.S_ISVTX) or is_shared_mode(mode):
            return
        top.chmod(_BEING_CLOSED)
        if top.stat().st_mode & _OTHERS:
            return  # A file system without modes: looking further changes nothing.
        for folder, folders, files in os.walk(top):
            for name in (*folders, *files):
                if not os.path.islink(path := os.path.join(folder, name)):
                    close_to_others(path)
        top.chmod(OWNER_FOLDER)


def _unusable(folder: Path, use: FolderUse, error: OSError) -> InputError:
    return InputError(
        f"The data folder {folder} can't be {_DOINGS[use]}: {_reason(folder, error)}.",
        f"Set {home_variable()} to a folder that can be written to, or mend this one.",
    )


_DOINGS = {"read": "read", "write": "written to"}


def _reason(folder: Path, error: OSError) -> str:
    """Say what is in the way: a file where a folder should be, or what the system says."""
    for path in (folder, *folder.parents):
        if path.is_symlink() and not path.exists():
            return f"the link {path} leads to nothing"
        if path.exists():
            return (error.strerror or str(error)) if path.is_dir() else f"{path} is not a folder"
    return error.strerror or str(error)
