"""Write the answer of a comparison in sentences, the most important sentence first."""

from collections.abc import Sequence

from lemmata.intervals import Interval
from lemmata.workflows.records.comparisons import Data, FamilyResult, FiniteResult, PairResult, ScoreResult, Theorem

from ._bootstrap import RELEVANT
from ._words import factor, listed, told, told_small

LARGE, NEAR, TINY = 0.5, 0.15, 1e-4
"""Three limits.

If the best family leaves a larger share of the variance than `LARGE`, the text names possible reasons: noise, or a rule
that no family can express. If the error predicted from eigenvalues differs by a larger fraction than `NEAR` from the
measured error, the text gives the reason. Errors up to `TINY` are too small to be predicted.
"""


def predicts(result: FamilyResult) -> bool:
    """Whether a family's error is significantly below that of guessing the mean, and smaller by more than 5 %."""
    return result.error.upper < 1 and result.error.value < 1 - RELEVANT


def sentences(
    data: Data,
    results: list[FamilyResult],
    leaders: list[str],
    theorem: Theorem | None,
    compared: Sequence[PairResult] = (),
) -> list[str]:
    """Return the findings as sentences.

    Args:
        data: the rows.
        results: the results of all families.
        leaders: names of the best family and of the families that it does not decidedly beat.
        theorem: the comparison with Theorem 1 of the survey; None if there is none.
        compared: the comparisons of all pairs of families.
    """
    by_name = {result.name: result for result in results}
    ahead, best = [by_name[name] for name in leaders], by_name[leaders[0]]
    behind = sorted((own for own in results if own.name not in leaders), key=lambda own: own.error.value)
    found = [_verdict(ahead, behind, compared)] if len(results) > 1 else [_alone(best)]
    if best.wrong is not None and predicts(best):
        each = [f"{own.title} {100 * own.wrong:.1f} %" for own in [*ahead, *behind] if own.wrong is not None]
        found.append(f"The error rates on the held-out rows are: {listed(each)}.")
    found += _order(best, by_name, leaders)
    if predicts(best) and best.error.value > LARGE and len(results) > 1:
        found.append(
            f"Yet {told(best.error.value)} of the variance is unexplained. Either the target is noisy, or it follows a "
            "rule that none of these families can express. An example is a rule that selects tokens by their content, "
            "as a selective recurrence does."
        )
    found += _learning(data, best)
    found += _shuffled(results)
    position = (
        "For attention and recurrence, the model uses the outputs at the last token"
        if data.read == "last"
        else "For attention and recurrence, the model uses the outputs averaged over all positions"
    )
    found.append(
        f"{position}. For the convolution, it uses the outputs averaged over positions. For the flattened row, it "
        "uses all tokens."
    )
    if theorem is not None:
        undecided = "These rows cannot decide whether that is right"
        judged = {True: "That is right here", False: "That is wrong here", None: undecided}
        would = "prefers recurrence to attention" if theorem.named else "prefers neither recurrence nor attention"
        by_accident = " (but the theorem's rates do not explain it)" if theorem.right else ""
        found.append(
            f'Theorem 1 of the survey "Mathematics of Foundation Models" {would}, for every target. '
            f"{judged[theorem.right]}{by_accident}: {theorem.why}."
        )
    return found


def _alone(best: FamilyResult) -> str:
    return f"{best.title.capitalize()} leaves {_told_interval(best)} of the target's variance unexplained."


def _told_interval(result: FamilyResult) -> str:
    error = result.error
    return f"{told(error.value)} ({told(error.lower)} to {told(error.upper)})"


def _verdict(ahead: list[FamilyResult], behind: list[FamilyResult], compared: Sequence[PairResult]) -> str:
    best = ahead[0]
    everyone = sorted([*ahead, *behind], key=lambda own: own.error.value)
    if not any(predicts(own) for own in everyone):
        return (
            f"No family wins, and no signal was found: none of {listed([own.title for own in everyone])} predicts the "
            f"target better than the mean of the training targets. They leave {told(everyone[0].error.value)} to "
            f"{told(everyone[-1].error.value)} of the target's variance unexplained."
        )
    if len(ahead) == 1:
        second = behind[0]
        if second.error.value - best.error.value <= RELEVANT:
            return _by_factor(best, behind, compared)
        more = second.error.value / max(best.error.value, 1e-12)
        times = f", {more:.0f} times as much" if more >= 3 else ""
        return (
            f"{best.title.capitalize()} wins: it leaves {_told_interval(best)} of the target's variance unexplained. "
            f"The second best, {second.title}, leaves {told(second.error.value)}{times}."
        )
    values = [told(own.error.value) for own in ahead]
    leave = f"each leaves {values[0]}" if len(set(values)) == 1 else f"they leave {listed(values)}"
    text = (
        f"No winner between {listed([own.title for own in ahead])}: {leave} of the variance unexplained. The "
        "differences may be due to chance, or they are too small to matter: below 5 % of the variance, and no error "
        "is significantly more than twice another."
    )
    if behind:
        each = listed([f"{own.title} ({told(own.error.value)})" for own in behind])
        text += f" These families leave more unexplained: {each}."
    return text


def _by_factor(best: FamilyResult, behind: list[FamilyResult], compared: Sequence[PairResult]) -> str:
    """Describe a winner if both errors are small: give the ratio of the errors with its interval."""
    second = behind[0]
    times = _times(best, second, compared)
    more = "" if times is None else f", {factor(times.value)} times as much ({factor(times.lower)} to "
    more += "" if times is None else f"{factor(times.upper)})"
    error = second.error
    return (
        f"{best.title.capitalize()} wins: it leaves {told_small(best.error.value)} of the target's variance "
        f"unexplained. The second best, {second.title}, leaves {told_small(error.value)}{more}. Both errors are "
        f"small: {second.title} also explains all but {_percent(error.value)} of the variance. So the difference "
        "matters only if you need errors that small."
    )


def _percent(share: float) -> str:
    return f"{told_small(100 * share)} %"


def _times(best: FamilyResult, second: FamilyResult, compared: Sequence[PairResult]) -> Interval | None:
    """Return the error of the second family divided by the error of the best family."""
    for pair in compared:
        if pair.ratio is None or {pair.first, pair.second} != {best.name, second.name}:
            continue
        value, lower, upper = pair.ratio.value, pair.ratio.lower, pair.ratio.upper
        return pair.ratio if pair.first == second.name else Interval(1 / value, 1 / upper, 1 / lower)
    return None


def _order(best: FamilyResult, by_name: dict[str, FamilyResult], leaders: list[str]) -> list[str]:
    flat = by_name.get("mlp")
    if flat is None or len(by_name) < 2 or not predicts(best):
        return []
    if "mlp" in leaders:
        return [
            "The model on the flattened row (all tokens side by side) predicts as well as the families that combine "
            "tokens. So on these rows, combining tokens gains little."
        ]
    return [
        f"The model on the flattened row (all tokens side by side) leaves {told(flat.error.value)} of the variance "
        f"unexplained. Combining the tokens by {best.title} explains {told(flat.error.value - best.error.value)} more "
        "of the variance."
    ]


def _learning(data: Data, best: FamilyResult) -> list[str]:
    last = next((point for point in reversed(best.points) if point.measured is not None), None)
    found = []
    if (
        best.ratio is not None
        and last is not None
        and last.predicted is not None
        and predicts(best)
        and best.error.value > TINY
    ):
        found.append(
            f"From the {last.n} training rows alone, an error of {told(last.predicted.value)} is predicted for "
            f"{best.title}. The predicted error is {best.ratio:.2f} times the measured error{_alike(best)}."
        )
    twice = best.later[0] if best.later else None
    if twice is not None and twice.predicted is not None and predicts(best):
        own = twice.predicted
        found.append(
            f"With twice the training rows ({twice.n:,}), {best.title} is expected to leave {told(own.value)} "
            f"({told(own.lower)} to {told(own.upper)}) of the variance unexplained."
        )
    return found


def _alike(best: FamilyResult) -> str:
    """Return the likely reason if the error predicted from eigenvalues differs from the measured one; else empty."""
    if best.equivalent is None or abs(best.equivalent / best.error.value - 1) <= NEAR:
        return ""
    return (
        f". The eigenvalues of this family's kernel predict an error of {told(best.equivalent)}. The prediction from "
        "eigenvalues assumes that all rows are alike, but some rows are far from the others"
    )


def _shuffled(results: list[FamilyResult]) -> list[str]:
    """Return warnings about families whose error on shuffled targets differs significantly from 1, the right value."""
    leaks = [own.title for own in results if not own.sound and own.permuted.value < 1]
    costly = [own.title for own in results if not own.sound and own.permuted.value > 1]
    found = []
    if leaks:
        found.append(
            "With shuffled targets, nothing can be learned, so every error should be 1, the error of predicting the "
            f"mean. But {listed(leaks)} still {_leave(leaks)} an error below 1. Do not trust the errors in this "
            "comparison."
        )
    if costly:
        found.append(
            f"With shuffled targets, {listed(costly)} {_leave(costly)} an error above 1, the error of predicting the "
            "mean. This is the cost of choosing two hyperparameters (a setting and a ridge) with so few rows."
        )
    return found


def _leave(titles: list[str]) -> str:
    return "leaves" if len(titles) == 1 else "leave"


def trained(results: list[FiniteResult], titles: dict[str, str]) -> list[str]:
    """Return a sentence on whether small trained networks rank the families as their kernels do.

    Args:
        results: the results of the networks, with the errors of the kernels on the same split.
        titles: the titles of the families by name.
    """
    if not results:
        return []
    best, chosen = min(results, key=lambda own: own.error), min(results, key=lambda own: own.kernel)
    each = listed([f"{told(own.error)} for {titles[own.name]}" for own in results])
    text = (
        "On one split, a small network of each family was trained. The share of the variance that the network leaves "
        f"unexplained is {each}"
    )
    if len(results) == 1:
        return [f"{text}."]
    if chosen.error > best.error + RELEVANT:
        ahead, behind = titles[best.name], titles[chosen.name]
        return [
            (
                f"{text}. So the order of the kernels' errors misleads here: as a trained network, {ahead} is better "
                f"than {behind}."
            )
        ]
    if best.error <= 1 - RELEVANT:
        return [
            f"{text}. The kernel of {titles[chosen.name]} has the lowest error of all kernels. Trained as a network, "
            "this family also has the lowest error, or nearly the lowest."
        ]
    if chosen.kernel > 1 - RELEVANT:
        return [f"{text}. None of the networks learns anything."]
    return [
        f"{text}. With these rows and training steps, no network learns what the kernel of {titles[chosen.name]} "
        "predicts. The kernel has its features from the start, but a network must first learn them."
    ]


def scored(results: list[ScoreResult]) -> str:
    """Return the sentence about denoising."""
    best = min(results, key=lambda own: own.error)
    gain = (
        f"the {best.kernel} kernel at noise {best.noise:g} has {told(best.error)} times the error of the best linear "
        "denoiser"
        if best.error < 1 - RELEVANT
        else "no kernel beats the best linear denoiser by 5 %, so the rows look Gaussian to a denoiser"
    )
    return (
        "A diffusion model does not combine the tokens of a sequence, so it is not compared here. Of the kernels that "
        f"were tested as denoisers, {gain}."
    )
