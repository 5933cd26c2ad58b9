"""The data folder as commands need it: to be read, or to be written too."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ..errors import InputError
from ..files import try_folder
from . import home, home_variable

__all__ = ["FolderUse", "check_data_folder"]

FolderUse = Literal["read", "write"]
"""What a command does with the folder."""


def check_data_folder(use: FolderUse) -> Path:
    """Return the data folder after finding out whether it can be used; to be written it is made.

    Raises:
        InputError: It can't be used; says which folder, why, and what to do.
    """
    folder = home()
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
