"""How the command line prints verdicts: exit codes, colours and lines."""

from typing import Any

EXIT = {
    "supported": 0, "refuted": 1, "inconclusive": 3, "inapplicable": 3, "failed": 4, "vacuous": 5, "outside": 6,
    "fails outside": 6,
}  # fmt: skip
COLOUR = {"supported": "green", "refuted": "red", "failed": "magenta", "vacuous": "cyan"}


def worst(chosen: list[Any], verdicts: list[Any]) -> int:
    """The exit code of several claims: 4 if one failed, otherwise the code of the worst unexpected status."""
    if any(verdict.status == "failed" for verdict in verdicts):
        return EXIT["failed"]
    expected = {claim.name: claim.expected for claim in chosen}
    wrong = [verdict.status for verdict in verdicts if verdict.status is not expected[verdict.name]]
    unfinished = len(chosen) - len(verdicts)
    return max([EXIT[status] or 1 for status in wrong] + [EXIT["inconclusive"]] * bool(unfinished), default=0)


def amiss(claims: list[Any], verdicts: dict[str, Any]) -> int:
    """Count the claims that break a rule for writing claims, and print each of them with the rule."""
    from lemmata.engine.claims import check_verdict, check_writing
    from lemmata.errors import ClaimError

    from ._console import err

    count = 0
    for claim in claims:
        try:
            check_writing(claim)
            if verdicts[claim.name].status is claim.expected:
                check_verdict(claim, verdicts[claim.name])
        except ClaimError as error:
            count += 1
            err.print(str(error), markup=False, highlight=False)
    return count


def show_verdict(verdict: Any, short: bool) -> None:
    """Print a verdict in a few lines."""
    from rich.markup import escape

    from lemmata.engine.claims import UNSEEN, advice_on

    from ._console import out

    colour, source = COLOUR.get(verdict.status, "yellow"), escape(str(verdict.source))
    out.print(f"[{colour} bold]{verdict.status}[/]  {verdict.name}  [dim]{source}[/dim]", highlight=False)
    lines = [f"  {verdict.reason}"]
    says = "of the predicted numbers are vacuous (no better than the trivial value)"
    vacuous = "" if verdict.vacuous is None else f"; {verdict.vacuous:.0%} {says}"
    low, middle, high = verdict.slack or (None, None, None)
    slack = "" if middle is None else f"; predicted / measured {middle:.3g} ({low:.3g} to {high:.3g})"
    lines.append(
        f"  {verdict.judged} of {verdict.requested} trials judged at level {verdict.level:.2g}; "
        f"control {_control(verdict.control)}{vacuous}{slack}; {verdict.seconds:.1f} s"
    )
    if not short:
        for corner in verdict.corners:
            found = "not refuted" if corner.status == "inconclusive" else corner.status
            lines.append(f"  at {_setting(corner.setting)}: {found}")
        lines.append(f"  settings: {_setting(verdict.setting)}; seed {verdict.seed}; worst trial {verdict.worst}")
        if not verdict.reason.startswith(UNSEEN):  # such a reason already names the remedy
            lines.append(f"  {advice_on(verdict)}")
    for line in lines:
        out.print(line, markup=False, highlight=False)


def _setting(setting: dict) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items()) or "none"


def _control(control: Any) -> str:
    """Describe the control, a false version of the claim: its verdict, the trials that refute it, and its distance."""
    distance = "" if control.farthest is None else f" at a distance of {control.farthest:.3g}"
    by = "" if control.violating is None else f" by {control.violating:.0%} of the trials"
    return f"{control.status}{by}{distance}"
