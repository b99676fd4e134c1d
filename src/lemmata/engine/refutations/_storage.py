"""Store a search for counterexamples as a study of Optuna, in a SQLite file or another database."""

import contextlib
import os
import pathlib
import sqlite3
import stat
from typing import Any

import optuna

from lemmata.engine.claims import Claim, Space, fingerprint_of
from lemmata.errors import SettingError
from lemmata.files import check_database

from ._region import beginnings, steps_of

_HEADER = b"SQLite format 3\x00"
_TABLES = {"studies", "trials", "version_info"}
"""The tables that every database of Optuna has."""
_RULE = "a new file, a SQLite file that an earlier search wrote, or the URL of a database"


def study_name(claim: Claim, without: str | None = None) -> str:
    """The name of the searches for a claim in the database.

    The name contains a digest of the claim's code, so that results of searches with other code are not used.
    """
    return " ".join([claim.name, fingerprint_of(claim), *([f"without {without}"] if without else [])])


def open_study(
    claim: Claim, seed: int, without: str | None, space: Space, fixed: dict[str, Any], storage: str | None
) -> optuna.Study:
    """Open Optuna's study of the claim. The default and the smallest setting are searched first.

    Raises:
        SettingError: if the storage cannot be opened, or is a file of another program. Such a file is not changed.
    """
    url = (
        storage if storage is None or "://" in storage else f"sqlite:///{os.path.abspath(storage)}"
    )  # an absolute path, because the code of a claim may change the current folder
    _check_file(url)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=8)
    try:
        study = optuna.create_study(
            direction="maximize",
            sampler=sampler,
            storage=url,
            study_name=claim.name if storage is None else study_name(claim, without),  # this name takes seconds
            load_if_exists=True,
        )
        if not study.trials:
            for own in beginnings(space):
                study.enqueue_trial(steps_of(space, {k: v for k, v in own.items() if k not in fixed}))
    except Exception as error:  # any error of the database's driver
        raise _refused(storage, " ".join(str(error).split())[:120]) from error
    return study


def path_of(storage: object) -> str | None:
    """The argument `storage` as text.

    Args:
        storage: the path of a file, or the URL of a database; None for no storage.

    Raises:
        SettingError: for another value.
    """
    if isinstance(storage, os.PathLike):
        storage = os.fspath(storage)
    if storage is not None and not isinstance(storage, str):
        raise _refused(repr(storage), f"a {type(storage).__name__}")
    return storage


def storage_failure(error: Exception, storage: str | None) -> str:
    """The reason why a search can no longer be stored, in words; empty if the error is not about the storage.

    Args:
        error: the error of a search.
        storage: as in `refute`.
    """
    if storage is None or not type(error).__module__.startswith(("optuna.", "sqlalchemy.")):
        return ""
    cause = error.__cause__ or error
    return f"storage {storage}: {' '.join(str(cause).splitlines()[:1])[:200]}"


def _check_file(url: str | None) -> None:
    """Raise an error for a file that is not a database of Optuna. The file is only read."""
    kind, separator, rest = (url or "").partition(":///")
    if not separator or kind.partition("+")[0] != "sqlite":
        return
    path = pathlib.Path(rest.partition("?")[0])
    try:
        check_database(path)
        mode = os.stat(path).st_mode
        head = b""
        if stat.S_ISREG(mode):
            with path.open("rb") as file:
                head = file.read(len(_HEADER))
    except (FileNotFoundError, ValueError):  # a new file, or a name for which Optuna itself raises an error
        return
    except OSError as error:
        raise _refused(str(error.filename or path), error.strerror or str(error)) from error
    if not stat.S_ISREG(mode):
        raise _refused(str(path), "a folder" if stat.S_ISDIR(mode) else "not a regular file")
    if not head:
        return
    if head != _HEADER:
        raise _refused(str(path), "a file of another kind")
    # If the database uses a write-ahead log, SQLite would make another file next to it, unless it is opened as
    # immutable.
    options = "mode=ro" if path.with_name(f"{path.name}-wal").exists() else "mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True)) as own:
            application = own.execute("PRAGMA application_id").fetchone()[0]
            tables = {name for (name,) in own.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.Error as error:
        raise _refused(str(path), str(error)) from error
    if application or (tables and not tables >= _TABLES):
        raise _refused(str(path), "a database of another program")


def _refused(storage: str | None, found: str) -> SettingError:
    return SettingError(
        "storage", found=f"{storage}: {found}", rule=_RULE, remedy="name a new file, such as --storage search.db"
    )
