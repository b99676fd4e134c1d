"""Keep the functions that JAX compiles from one run of a command to the next.

JAX can read and write a directory of compiled functions, but JAX writes each entry in place. So a second process may
read an incomplete entry. A killed process leaves an incomplete entry for ever, since JAX does not replace an existing
entry. So every run gives JAX a private directory, and moves complete entries to the shared directory when it ends:

    compilations/lock             locked briefly while entries or runs are added or removed
    compilations/entries/KIND/    complete entries, by versions and processor
    compilations/runs/ID/         the entries of one run: hard links to earlier entries, and new entries
    compilations/runs/ID/.alive   locked while the run lasts

A lock ends with its process, even if the process is killed, so the next run can remove the files of a killed run.
"""

import contextlib
import hashlib
import importlib.metadata
import os
import platform
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from lemmata.directories import compilations_directory

BOUND = 256 * 2**20
"""The size limit of the cache between runs, in bytes. The least recently used entries are removed first."""

_BLOCK = 4096  # file systems allocate at least this many bytes; most entries are smaller than two such blocks
_PATIENCE = 10.0  # the number of seconds that a run waits for the lock; after that, it does not use the shared entries


@contextlib.contextmanager
def kept_compilations(bound: int = BOUND) -> Iterator[None]:
    """Within this context, JAX reuses compiled functions from earlier runs and keeps new ones for later runs.

    Compiled functions are stored in the platform's cache directory, or in the directory that LEMMATA_CACHE_DIR names.
    Nothing is kept if this variable is empty, if the directory cannot be used, or if JAX already has a cache.

    Args:
        bound: the bytes that the entries may occupy when the context ends.
    """
    import jax

    place = compilations_directory()
    run = None
    if place is not None and not jax.config.values["jax_compilation_cache_dir"]:
        with contextlib.suppress(OSError):
            run = _Run(place / "compilations")
    if run is None:
        yield
        return
    spoilt = set()
    try:
        with _jax_in(run.directory), _noting_what_is_spoilt(spoilt):
            yield
    finally:
        run.finish(spoilt, bound)


class _Run:
    """The directory of one run. Raises OSError if it is not writable, or if hard links or the lock are unavailable."""

    def __init__(self, place: Path):
        from filelock import FileLock

        self._entries, self._runs = place / "entries", place / "runs"
        self._kind = self._entries / _kind()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(mode=0o700, exist_ok=True)
        _check_owner(place)
        for folder in (self._kind, self._runs):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(place / "lock", timeout=_PATIENCE)
        with self._lock:
            _remove_dead(self._runs)
            self.directory = Path(tempfile.mkdtemp(dir=self._runs))
            self._alive = FileLock(self.directory / ".alive", timeout=0)
            try:
                self._alive.acquire()
                for entry in self._kind.iterdir():
                    os.link(entry, self.directory / entry.name)
            except OSError:
                self._remove()
                raise

    def finish(self, spoilt: set[str], bound: int) -> None:
        """Share new entries, delete damaged entries and those above the bound, and remove the run's directory."""
        try:
            with contextlib.suppress(OSError), self._lock:
                for entry in self._kind.iterdir():
                    if _belongs(entry, spoilt):
                        entry.unlink()
                for entry in self.directory.iterdir():
                    new = entry.is_file() and not entry.name.startswith(".") and not (self._kind / entry.name).exists()
                    if new and not _belongs(entry, spoilt):
                        entry.replace(self._kind / entry.name)
                _evict(self._entries, bound)
        finally:
            self._remove()

    def _remove(self) -> None:
        # Some platforms do not remove a file that is open, and a locked file is open.
        self._alive.release()
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def _jax_in(directory: Path) -> Iterator[None]:
    """Within this context, JAX stores every compiled function in the directory. Then its settings are restored."""
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    settings = {
        "jax_compilation_cache_dir": str(directory),
        "jax_compilation_cache_max_size": -1,
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        # The caches of XLA would write the directory's name, which is new in every run, into the entries' keys.
        "jax_persistent_cache_enable_xla_caches": "none",
    }
    before = {name: jax.config.values[name] for name in settings}
    try:
        reset_cache()
        for name, value in settings.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        reset_cache()


@contextlib.contextmanager
def _noting_what_is_spoilt(names: set[str]) -> Iterator[None]:
    """Collect functions with damaged cache entries. JAX's warnings are hidden, since JAX recompiles these functions."""
    shown = warnings.showwarning

    def note(message, *rest, **options):
        found = re.match(r"Error (?:reading|writing) persistent compilation cache entry for '(.*?)'", str(message))
        if found:
            names.add(found[1])
        else:
            shown(message, *rest, **options)

    warnings.showwarning = note
    try:
        yield
    finally:
        warnings.showwarning = shown


def _belongs(entry: Path, functions: set[str]) -> bool:
    return any(entry.name.startswith(f"{name}-") for name in functions)


def _kind() -> str:
    """A folder name from the versions of the libraries that compile, and the processor that they compile for.

    Machine code may use any instruction of the processor that compiled it, and JAX does not promise that its keys
    distinguish processors.
    """
    keys = ("model name", "flags", "Features", "CPU implementer", "CPU part", "isa")
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        processor = sorted({line for line in lines if line.startswith(keys)})
    except OSError:
        processor = [os.environ.get("PROCESSOR_IDENTIFIER", ""), platform.node()]
    facts = [platform.system(), platform.machine(), *processor]
    versions = "-".join(f"{name}-{importlib.metadata.version(name)}" for name in ("jax", "jaxlib"))
    return f"{versions}-{hashlib.sha256(chr(10).join(facts).encode()).hexdigest()[:16]}"


def _check_owner(place: Path) -> None:
    """Raise an error if another user may have written the directory, because its compiled functions will run."""
    status = place.stat()
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        raise PermissionError(f"{place} can be written by other users")


def _remove_dead(runs: Path) -> None:
    """Remove the directories of runs that ended without removing them. The caller holds the lock."""
    from filelock import FileLock

    for directory in runs.iterdir():
        alive = FileLock(directory / ".alive", timeout=0)
        with contextlib.suppress(OSError):  # the lock of a run that still lasts cannot be acquired
            alive.acquire()
            alive.release()
            shutil.rmtree(directory, ignore_errors=True)


def _evict(entries: Path, bound: int) -> None:
    """Remove the least recently used entries of all kinds until they take at most `bound` bytes, under the lock.

    The last use of an entry is the time at which the entry was written or last read, whichever is later. Many file
    systems record a read only if the last recorded read is not later than the last write. So if a read is later than
    the last write, this function stores the time of the read as the time of the write. Then the file system records the
    next read, too.
    """
    files, total = [], 0
    for path in entries.glob("*/*"):
        status = path.stat()
        used = max(status.st_atime_ns, status.st_mtime_ns)
        if used > status.st_mtime_ns:
            os.utime(path, ns=(used, used))
        size = -(-status.st_size // _BLOCK) * _BLOCK
        files.append((used, path, size))
        total += size
    for _, path, size in sorted(files):
        if total <= bound:
            break
        path.unlink()
        total -= size
