"""The names that the argument DATA of a command accepts in place of a file, and the error for any other name."""

import dataclasses
import difflib
from pathlib import Path

from lemmata.errors import MissingFileError, shortened

SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".feather", ".jsonl", ".npz")
"""The file extensions that messages name. The studies' module `_sources` lists all extensions that can be read."""


@dataclasses.dataclass(frozen=True)
class Bundled:
    """The names of bundled data that are accepted as DATA.

    Args:
        sets: names of bundled data sets, which `read_table` reads.
        tasks: names of bundled tasks. A caller looks these names up before it calls `read_table`.
    """

    sets: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()

    @property
    def kinds(self) -> str:
        """The kinds of bundled data that a name can refer to: "set" or "task or set". Empty if there are no names."""
        return " or ".join(kind for kind, names in (("task", self.tasks), ("set", self.sets)) if names)

    @property
    def rule(self) -> str:
        """The values that DATA may have, as words that follow "an existing" or "a single" in a message."""
        return f"file or the name of a bundled {self.kinds}" if self.kinds else "file"

    @property
    def listed(self) -> str:
        """All names in a sentence. Empty if there are no names."""
        kinds = (("tasks", self.tasks), ("sets", self.sets))
        return ", ".join(f"the bundled {kind} are {', '.join(names)}" for kind, names in kinds if names)

    @property
    def remedy(self) -> str:
        """The advice that says which values DATA may have."""
        names = [*self.tasks, *self.sets]
        first = f"one of {', '.join(names)}, or " if names else ""
        return f"give {first}the path of a {', '.join(SUFFIXES)} file"

    def look(self, data: str) -> None:
        """Raise an error for the path of a file that does not exist. A text that may be a name is not checked.

        Raises:
            MissingFileError: if there is no such file.
        """
        path = Path(data)
        if path.suffix or "/" in data:
            try:
                exists = path.exists()
            except (OSError, ValueError):  # no operating system accepts this path; its reader raises the error
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
            remedy=f"{hint}give one of these names or the path of a {', '.join(SUFFIXES)} file",
        )


SETS = Bundled(sets=("digits", "breast_cancer", "wine", "diabetes", "iris"))
"""The data sets that are part of scikit-learn."""

NO_NAMES = Bundled()
"""No bundled names, so DATA must be a file."""
