"""Move files into a folder, and remove files from it, never through a link below the folder.

Another user may replace a folder by a link between a check and the next step. For this reason, each folder on the way
is opened below the folder before it, and no step names a path that is longer than one name.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_OPENS = {os.open, os.mkdir, os.rename, os.unlink} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether this system can open a folder below an open folder. Windows cannot."""
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)


def move_into(file: Path, folder: Path, name: str) -> None:
    """Move a file to its place below a folder. Missing folders are made, and a file in the place is replaced.

    Args:
        file: the file, on the same disk.
        folder: the folder, which itself may be a link.
        name: the path of the place below the folder, with slashes.

    Raises:
        OSError: if the file cannot be moved, for example because a folder on the way is a link.
    """
    if not _OPENS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        file.replace(folder / name)
        return
    with _parent(folder, name, make=True) as (parent, last):
        os.rename(file, last, dst_dir_fd=parent)


def remove_from(folder: Path, name: str) -> None:
    """Remove a file below a folder.

    Args:
        folder: the folder, which itself may be a link.
        name: the path of the file below the folder, with slashes.

    Raises:
        OSError: if the file cannot be removed, for example because a folder on the way is a link.
    """
    if not _OPENS:
        (folder / name).unlink()
        return
    with _parent(folder, name, make=False) as (parent, last):
        os.unlink(last, dir_fd=parent)


@contextlib.contextmanager
def _parent(folder: Path, name: str, make: bool) -> Iterator[tuple[int, str]]:
    """The open folder of a file below a folder, and the last part of the file's name."""
    *ways, last = PurePosixPath(name).parts
    opened = os.open(folder, _FOLDER)
    try:
        for way in ways:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(way, dir_fd=opened)
            below = os.open(way, _FOLDER | os.O_NOFOLLOW, dir_fd=opened)
            os.close(opened)
            opened = below
        yield opened, last
    finally:
        os.close(opened)
