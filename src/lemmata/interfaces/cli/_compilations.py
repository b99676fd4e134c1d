"""Compilations that commands keep from one run to the next.

JAX can read and write a directory of compiled functions, but it writes in place. So a second process may read half of
an entry. A killed process leaves half an entry for ever, since JAX does not replace an existing entry. So every run
gives JAX its own directory, and moves finished entries to the shared one at its end:

    compilations/lock             locked while anything below is added or removed, for moments
    compilations/entries/KIND/    whole entries, by versions and processor
    compilations/runs/ID/         of one run: hard links to the entries, and what it compiled
    compilations/runs/ID/.alive   locked while the run lasts

A lock ends with its process, even if it is killed, so the next run removes the files of a killed one.
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

BOUND = 256 * 2**20
"""Bytes that entries may occupy between runs; the least recently used go first."""

_BLOCK = 4096  # file systems allocate at least this many bytes; most entries are smaller than two of them
_PATIENCE = 10.0  # seconds to wait for the lock, before a run does without the entries of others


@contextlib.contextmanager
def kept_compilations(bound: int = BOUND) -> Iterator[None]:
    """Within this context JAX takes compilations from earlier runs, and keeps those that it adds for later ones.

    They lie in the directory for caches of the platform, or in that of the environment variable LEMMATA_CACHE_DIR; none
    are kept if it is empty, if the directory cannot be used, or where JAX has been given a cache already.

    Args:
        bound: bytes that may be occupied at the end.
    """
    import jax

    place = cache_directory()
    run = None
    if place is not None and not jax.config.values["jax_compilation_cache_dir"]:
        with contextlib.suppress(OSError):
            run = _Run(place)
    if run is None:
        yield
        return
    spoilt = set()
    try:
        with _jax_in(run.directory), _noting_what_is_spoilt(spoilt):
            yield
    finally:
        run.finish(spoilt, bound)


def cache_directory() -> Path | None:
    """Where compilations are kept; None if LEMMATA_CACHE_DIR is empty."""
    from platformdirs import user_cache_path

    chosen = os.environ.get("LEMMATA_CACHE_DIR")
    if chosen is None:
        return user_cache_path("lemmata", appauthor=False) / "compilations"
    return Path(chosen).expanduser().absolute() / "compilations" if chosen else None


class _Run:
    """One run's directory. OSError if a directory is impossible: no right to write, no hard links, no lock in time."""

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
        """Hand over what was compiled, drop what is spoilt, keep to the bound, and remove the run's directory."""
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
        # Some platforms do not remove a file that is open, as a locked one is.
        self._alive.release()
        shutil.rmtree(self.directory, ignore_errors=True)


@contextlib.contextmanager
def _jax_in(directory: Path) -> Iterator[None]:
    """JAX stores every compilation in the directory. Afterwards, its settings are as before."""
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
    """Collect the functions whose cache entries are damaged, without JAX's warnings, because it compiles again."""
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
    """A name for the versions and the processor that entries were compiled by and for.

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
    """Compilations are programs that will run, so refuse those that another user may have written."""
    status = place.stat()
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        raise PermissionError(f"{place} can be written by other users")


def _remove_dead(runs: Path) -> None:
    """Remove the directories of runs that have ended without doing so. The caller holds the lock."""
    from filelock import FileLock

    for directory in runs.iterdir():
        alive = FileLock(directory / ".alive", timeout=0)
        with contextlib.suppress(OSError):  # the lock of a run that lasts is not to be had
            alive.acquire()
            alive.release()
            shutil.rmtree(directory, ignore_errors=True)


def _evict(entries: Path, bound: int) -> None:
    """Remove the least recently used entries, of any kind, beyond the bound. The caller holds the lock.

    An entry was last used when it was written or last read. Many file systems only record a read access if the last
    recorded access is not after the last write. So the time of writing is set to it.
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
