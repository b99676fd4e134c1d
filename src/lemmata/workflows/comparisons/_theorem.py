"""Compare a published theorem on attention and state-space models with the errors measured on the user's rows."""

import math

from lemmata.engine.catalogue import records
from lemmata.workflows.records.comparisons import Statement, Theorem

from ._bootstrap import RELEVANT, Pair
from ._sequences import Sequences
from ._words import told

SMOOTHNESS = 1


def theorem(data: Sequences, training: int, errors: dict[str, float], pair: Pair | None) -> Theorem | None:
    """Compare Theorem 1 of the survey "Mathematics of Foundation Models" with the errors of recurrence and attention.

    For n rows and functions of d variables with s derivatives, the theorem gives rates at which the error falls: ((log
    n)/n)^(2s/d) for attention and n^(-s/d) for state-space models. The theorem also states that state-space models
    strictly dominate for d > 2. But its rate for attention is the smaller one at every n >= 2: the rate for attention
    divided by the rate for state-space models is ((log n)²/n)^(s/d) <= (4/e²)^(s/d) < 1, for any d.

    Args:
        data: the rows.
        training: n, the number of training rows.
        errors: the error of each family by its name, with at least "recurrent" and "attention".
        pair: the comparison of recurrence and attention; None if they were not compared. The result is then None.
    """
    if pair is None:
        return None
    d = data.length * data.channels
    rates = (math.log(training) / training) ** (2 * SMOOTHNESS / d), training ** (-SMOOTHNESS / d)
    named = "recurrent" if d > 2 else None
    better = errors["recurrent"] < errors["attention"]
    why = (
        f"recurrence leaves {told(errors['recurrent'])} of the variance unexplained, and attention leaves "
        f"{told(errors['attention'])}"
    )
    if named is None:
        right = None
        why = f"for d = {d} numbers in a row, the theorem prefers neither family; {why}"
    elif not pair.decided:
        small = abs(pair.difference) <= RELEVANT
        right = None
        why += ", a difference below 5 % of the variance" if small else ", a difference that may be due to chance"
    else:
        right = better
    own = (
        "for every number n of training rows, the theorem's two rates contradict its last sentence, and neither rate "
        f"depends on the target. With n = {training} training rows, d = {d} numbers in a row, smoothness s = "
        f"{SMOOTHNESS} and all constants 1, the rate is {rates[0]:.2g} for attention and {rates[1]:.2g} for recurrence"
    )
    says = "For fixed n, state-space models strictly dominate in terms of approximation rate when d > 2."
    return Theorem(says, named, right, why, own)


def statements(data: Sequences, rank: int | None, cap: int, exponents: dict[str, float]) -> list[Statement]:
    """Return results of the theory about mixers of sequences, and whether their hypotheses hold for these rows.

    Args:
        data: the rows.
        rank: the numerical rank of the matrix of the recurrence's states, one line per row; None without a recurrence.
        cap: the largest possible rank: 2 times the number of states times the number of channels.
        exponents: for each family whose cost was measured, the exponent p with which its operations grow as length^p.
    """
    norms = (data.x[data.mask] ** 2).sum(axis=1) ** 0.5
    spread = float(norms.std() / norms.mean())
    found = [
        Statement(
            "effective dimension of softmax attention",
            "If n tokens are spread evenly on a sphere in R^p, the effective dimension of the attention kernel grows "
            "as (log n)^(p - 1), not as log n.",
            spread < 0.05,
            f"the norms of the tokens vary by {spread:.0%} of their mean, but the result needs equal norms",
            _claim("attention.effective_dimension.effective_dimension_is_power_of_log"),
        )
    ]
    if rank is not None:
        found.append(
            Statement(
                "rank of the kernel of a linear recurrence",
                "Let a linear recurrence have N complex states for each channel. Then a linear function of its last "
                "states is a combination of at most 2 N fixed functions of the row for each channel. A nonlinear head "
                "removes this limit.",
                True,
                f"here the limit is {cap}. With the median of the step sizes tried, the last states of "
                f"{len(data.x)} rows form a matrix of rank {rank}. Half of the head is nonlinear",
                _claim("state_space.induced_kernels.final_state_rank"),
            )
        )
    marks = [j for j in range(data.channels) if len(set(data.x[data.mask][:, j].tolist())) == 2]
    found.append(
        Statement(
            "what time-invariant models miss if some inputs are marked",
            "Suppose that the inputs are white noise, the target is the last marked input, and p is the share of "
            "marked inputs. The best linear time-invariant model then leaves 2(1 - p)/(2 - p) of the variance "
            "unexplained. A recurrence with one state that selects its inputs leaves nothing unexplained.",
            bool(marks) and data.name == "hold",
            _marked(data, marks),
            _claim("state_space.selection.holding_by_linear_models"),
        )
    )
    if "attention" in exponents and "recurrent" in exponents:
        attention, recurrence = exponents["attention"], exponents["recurrent"]
        found.append(
            Statement(
                "cost against length",
                "Operations grow as T² for softmax attention at every position, and as T for a recurrence.",
                abs(attention - 2) < 0.15 and abs(recurrence - 1) < 0.15,
                f"in the compiled code, the number of operations grows as T to the power {attention:.2f} for "
                f"attention, and {recurrence:.2f} for recurrence",
                _claim("approximation.costs.attention_operations_in_length"),
            )
        )
    found.append(
        Statement(
            "Wasserstein rates of diffusion models",
            "If a distribution is estimated from n samples, its error in the W1 (Wasserstein) distance is at least of "
            "order n^(-1/2), and larger in d > 2 dimensions.",
            False,
            "no distribution is estimated here, because the rows have a target",
        )
    )
    return found


def _claim(name: str) -> str:
    """Return the name if the catalogue has a claim with this name; otherwise return an empty text."""
    return name if name in records() else ""


def _marked(data: Sequences, marks: list[int]) -> str:
    if not marks:
        return "no channel has two values, so nothing marks a token"
    shares = [float((data.x[data.mask][:, j] > 0).mean()) for j in marks]
    p = shares[0]
    left = f"{2 * (1 - p) / (2 - p):.2f} of the variance"
    text = f"channel {marks[0]} has two values, and a share p = {p:.2f} of the tokens has the larger value. So {left}"
    return (
        f"{text} {'is' if data.name == 'hold' else 'would be'} left unexplained by the best linear time-invariant "
        "model if the target is the last marked number"
    )
