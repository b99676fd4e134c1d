"""The directories in which lemmata keeps files of its own: the cache and the data.

A user may have no home directory: a container may run under a number that has no entry in the list of users.
"""

import os
from collections.abc import Callable
from pathlib import Path

from lemmata.errors import SettingError

CACHE, DATA = "LEMMATA_CACHE_DIR", "LEMMATA_DATA_DIR"
"""Environment variables that name directories: for compiled functions, and for the ledger."""


def cache_directory() -> Path | None:
    """The platform's directory for cached files. None if the user has no home directory; then nothing is cached."""
    import platformdirs

    return _expanded(lambda: platformdirs.user_cache_dir("lemmata", appauthor=False))


def compilations_directory() -> Path | None:
    """The directory for compiled functions: the one that LEMMATA_CACHE_DIR names, or the platform's.

    The result is None if nothing is kept, because the variable is empty or because the user has no home directory.

    Raises:
        SettingError: if the home directory in the variable's value is unknown.
    """
    named = os.environ.get(CACHE)
    return cache_directory() if named is None else _named(CACHE, named) if named else None


def data_directory() -> Path:
    """The directory for the ledger: the one that LEMMATA_DATA_DIR names, or the platform's directory for data.

    Raises:
        SettingError: if the user has no home directory, or if the home directory in the variable's value is unknown.
    """
    import platformdirs

    if named := os.environ.get(DATA):
        return _named(DATA, named)
    place = _expanded(lambda: platformdirs.user_data_dir("lemmata", appauthor=False))
    if place is None:
        raise SettingError(
            "there is no directory for the ledger",
            found="that this user has no home directory",
            rule="the ledger is a file in the user's directory for data",
            remedy=f"name a file with --ledger PATH, or set {DATA} to a directory",
        )
    return place


def _named(variable: str, value: str) -> Path:
    place = _expanded(lambda: value)
    if place is None:
        raise SettingError(
            f"environment variable {variable}",
            found=f"{value!r}, but this home directory is unknown",
            rule="the path of a directory",
            remedy=f"set {variable} to a path that does not begin with ~",
        )
    return place


def _expanded(path: Callable[[], str]) -> Path | None:
    """The absolute path in which ~ is replaced by a home directory; None if this home directory is unknown."""
    try:
        place = Path(path()).expanduser()
    except RuntimeError:  # of platformdirs or of pathlib
        return None
    return Path(os.path.abspath(place))
