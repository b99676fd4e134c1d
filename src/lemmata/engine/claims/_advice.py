"""The advice for a verdict. The advice recommends a larger budget (more trials) only if more trials can help."""

import re
from typing import Any

MOST_TRIALS = 10**7
"""The largest number of trials. At a thousand trials a second, which few claims reach, they take three hours."""


def advice_on(verdict: Any) -> str:
    """The advice for a verdict, chosen by its status and by the words of its reason.

    Args:
        verdict: an object with `status`, `reason`, `requested`, `interrupted`, `control` and `remedy`.
    """
    if verdict.interrupted or verdict.status != "inconclusive":
        return verdict.remedy
    if "one case, drawn" in verdict.reason:
        return "All trials are the same case, so more trials change nothing. Sample problems that differ."
    if "control does not change" in verdict.reason:
        return (
            "More trials change nothing. Change the control so that it differs from the prediction in every component."
        )
    if "no power" in verdict.reason and verdict.control.status == "supported":
        return "More trials change nothing, because they support the control too. Change the control more."
    if "no power" in verdict.reason:
        return "Raise the budget until the control is refuted, or sample problems on which the bound is tighter."
    named = [int(number) for number in re.findall(r"(\d+) trials could settle it", verdict.reason)]
    if not named:
        return "Sample more informative problems. The reason says what is undecided."
    if max(named) > MOST_TRIALS:
        return (
            f"A verdict needs more trials than the {MOST_TRIALS:,} that are allowed. Sample more informative problems."
        )
    if max(named) <= verdict.requested:
        return "Run the claim with another seed, or sample more informative problems."
    return f"Raise the budget to {max(named):,} trials."
