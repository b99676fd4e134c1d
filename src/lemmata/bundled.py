"""The names that DATA accepts besides a file, and the error for any other name."""

import dataclasses
import difflib
from pathlib import Path

from lemmata.errors import MissingFileError, shortened

SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".feather", ".jsonl", ".npz")
"""The extensions that are named in messages. `_sources` lists the extensions of all file types that can be read."""


@dataclasses.dataclass(frozen=True)
class Bundled:
    """The names of bundled data that are accepted as DATA.

    Args:
        sets: names of bundled sets, which `read_table` reads.
        tasks: names of bundled tasks, which the caller of `read_table` looks up before.
    """

    sets: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def kinds(self) -> str:
        """The kinds of bundled data that a name can refer to: "set" or "task or set". Empty if there are no names."""
        return " or ".join(kind for kind, names in (("task", self.tasks), ("set", self.sets)) if names)

    @property
    def rule(self) -> str:
        """The values that DATA may have, as words that continue "an existing" or "a single"."""
        return f"file or the name of a bundled {self.kinds}" if self.kinds else "file"

    @property
    def listed(self) -> str:
        """All names in a sentence. Empty if there are no names."""
        kinds = (("tasks", self.tasks), ("sets", self.sets))
        return ", ".join(f"the bundled {kind} are {', '.join(names)}" for kind, names in kinds if names)

    @property
    def remedy(self) -> str:
        """The advice, which says what to give instead."""
        names = [*self.tasks, *self.sets]
        first = f"one of {', '.join(names)}, or " if names else ""
        return f"give {first}the path of a {', '.join(SUFFIXES)} file"

    def look(self, data: str) -> None:
        """Refuse the path of a file that does not exist. A text that may be a name is not checked here.

        Raises:
            MissingFileError: if there is no such file.
        """
        path = Path(data)
        if path.suffix or "/" in data:
            try:
                exists = path.exists()
            except (OSError, ValueError):  # a path that no system takes, which its reader refuses in words
                return
            if not exists:
                raise self.absent(data)

    def absent(self, data: str) -> MissingFileError:
        """The error for a name that belongs neither to a file nor to bundled data."""
        if Path(data).suffix or "/" in data or not self.kinds:
            return MissingFileError(
                f"there is no file {shortened(data)}",
                rule=f"DATA must be an existing {self.rule}",
                remedy="; ".join(filter(None, ["check the path", self.listed])),
            )
        meant = data[:100].lower().replace("-", "_")
        near = difflib.get_close_matches(meant, self.tasks + self.sets, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}? " if near else ""
        return MissingFileError(
            f"there is no file and no bundled {self.kinds} called {shortened(data)!r}",
            rule=self.listed,
            remedy=f"{hint}give one of these names, or the path of a {', '.join(SUFFIXES)} file",
        )


SETS = Bundled(sets=("digits", "breast_cancer", "wine", "diabetes", "iris"))
"""The data sets that are part of scikit-learn."""

NO_NAMES = Bundled()
"""An empty list of bundled names, so the data must be a file."""
