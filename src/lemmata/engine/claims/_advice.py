"""The advice for a verdict: a larger budget is advised only if it can help."""

import re
from typing import Any

MOST_TRIALS = 10**7
"""The largest budget: at a thousand trials a second, which few claims reach, it takes three hours."""


def advice_on(verdict: Any) -> str:
    """The advice for a verdict, by its status and the words of its reason.

    Args:
        verdict: with `status`, `reason`, `requested`, `interrupted` and `remedy`.
    """
    if verdict.interrupted or verdict.status != "inconclusive":
        return verdict.remedy
    if "one case, drawn" in verdict.reason:
        return "All trials are the same case, so more of them change nothing: vary the problems."
    if "leaves as it is" in verdict.reason:
        return "More trials change nothing: let the control change every component of the prediction."
    if "no power" in verdict.reason:
        return "Raise the budget until the control is refuted, or sample problems where the bound is tighter."
    named = [int(number) for number in re.findall(r"(\d+) trials could settle it", verdict.reason)]
    if not named:
        return "Sample problems that tell more; the reason says what is undecided."
    if max(named) > MOST_TRIALS:
        return f"At most {MOST_TRIALS:,} trials are allowed, which are too few: sample problems that tell more."
    if max(named) <= verdict.requested:
        return "Run it with another seed, or sample problems that tell more."
    return f"Raise the budget to {max(named):,} trials."
