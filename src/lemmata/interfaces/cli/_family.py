"""The claims that a command selects: all, those of subjects, sections or sources, or those with stale verdicts."""

import dataclasses
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError

from ._judging import named_claims
from ._stale import stale_claims
from ._subjects import Subjects, is_of, known_subjects, unknown


@dataclasses.dataclass(frozen=True)
class Family:
    """The options of `lemmata judge` that select the claims to judge together."""

    everything: Annotated[bool, typer.Option("--all", help="Test every registered claim.")] = False
    stale: Annotated[
        bool, typer.Option("--stale", help="Test the claims whose code has changed since their recorded verdict.")
    ] = False
    part: Annotated[
        str,
        typer.Option(
            metavar="K/N",
            help=(
                "Use with --stale. Divide the claims of which only shared code has changed into N parts, and test only "
                "part K."
            ),
        ),
    ] = ""
    subject: Subjects = None
    source: Annotated[str, "Test only claims of the source with this key."] = ""

    def check(self, names: list[str] | None) -> None:
        """Refuse options that select no claims, and options that contradict each other."""
        options = [option for option, given in (("--all", self.everything), ("--stale", self.stale)) if given]
        if names and options:
            raise SettingError(
                " and ".join([*options, *names]),
                rule="either names of claims, or --all or --stale",
                remedy="leave the names or the option out",
            )
        if self.part and not self.stale:
            raise SettingError(
                "--part without --stale",
                rule="--part K/N selects a part of the claims that --stale selects",
                remedy="add --stale, or leave --part out",
            )
        if not (names or options or self.subject or self.source):
            raise SettingError(
                "judge",
                rule="names of claims, --all, --stale, --subject or --source",
                found="nothing to judge",
                remedy="name claims, or add --stale to judge the claims whose code has changed",
            )

    def claims(self, names: list[str] | None) -> list[Any]:
        """The selected claims; if names are given, only claims with these names."""
        from lemmata.engine.claims import registry

        known = named_claims(names) if names else list(registry().values())
        places = known_subjects(self.subject, [claim.name for claim in known])
        keys = dict.fromkeys(claim.source.key for claim in known)
        if self.source and self.source not in keys:
            raise unknown("--source", self.source, keys, "give the key of a source of these claims")
        found = [
            claim
            for claim in known
            if (not places or is_of(places, claim.name)) and self.source in ("", claim.source.key)
        ]
        if not found:
            raise SettingError(
                "judge",
                found="no claim that matches both --subject and --source",
                rule="at least one matching claim",
                remedy="leave --source out, or choose another subject",
            )
        return stale_claims(found, self.part) if self.stale else found

    def out_of_date(self, chosen: list[Any]) -> int:
        """The number of claims that should have been judged before now: all stale claims or, with --part, some of them.

        With --part, only claims whose own code changed are counted. A change of shared code affects many claims at
        once. These claims keep the verdict of an earlier version until their part is judged.
        """
        from lemmata.engine.catalogue import State
        from lemmata.engine.claims import state_of

        if not self.stale:
            return 0
        return sum(state_of(claim) is State.OWN for claim in chosen) if self.part else len(chosen)
