"""The conformance suite that every claim passes, lemmata's own and third parties'."""

import dataclasses
from functools import partial

import jax
import numpy as np

from lemmata.core import key_from
from lemmata.errors import ClaimError

from ._claim import LABELS, Claim, Status
from ._ladders import Limit, Order, Rate
from ._trials import Outcome, compiled, trial, trial_key
from ._verdict import Verdict
from ._verify import verify


@dataclasses.dataclass(frozen=True)
class Conformance:
    """What the suite ran: the verdict, and how many trials stood behind it."""

    name: str
    verdict: Verdict
    samples: int


def check_claim(claim: Claim, *, seed: int = 0, samples: int = 4) -> Conformance:
    """Check that a claim obeys the grammar, and return its verdict.

    It names its source, title, statement and what it controls; sampled problems are of its type and satisfy its
    hypotheses; prediction, control and measurement have the same shapes for every key and are finite; a ladder has
    one measurement a rung; at the default budget the verdict is the expected one and the control is refuted.

    Args:
        claim: the claim.
        seed: seed of all randomness.
        samples: problems that are sampled for the checks before the verdict.

    Raises:
        ClaimError: the first rule that the claim breaks, and how to mend it.
    """
    _check_words(claim)
    _check_samples(claim, seed, samples)
    verdict = verify(claim, seed=seed, progress=False)
    if verdict.judged == 0:
        raise _broken(claim, f"no trial was judged: {verdict.status}, {verdict.reason}", "at least one trial is judged")
    if verdict.status is not claim.expected:
        raise _broken(
            claim, f"verdict {verdict.status}: {verdict.reason}", f"at the default budget it is {claim.expected}"
        )
    if verdict.control is not Status.REFUTED:
        raise _broken(claim, f"control {verdict.control}", f"the control is refuted: {claim.control().statement}")
    return Conformance(claim.name, verdict, samples)


def _broken(claim: Claim, found: str, rule: str) -> ClaimError:
    return ClaimError(f"claim {claim.name}", found=found, rule=rule)


def _check_words(claim: Claim) -> None:
    for attribute in ("title", "statement", "controls", "unexplained"):
        if not getattr(claim, attribute).strip():
            raise _broken(claim, f"no {attribute}", "a claim says what it states, controls and leaves unexplained")
    if claim.title[0].islower():
        raise _broken(claim, f"title {claim.title!r}", "a title begins with a capital letter")
    if not str(claim.source) or not claim.source.locator:
        raise _broken(claim, f"source {claim.source}", "the statement names its source and the place in it")
    if claim.label not in LABELS:
        raise _broken(claim, f"label {claim.label!r}", f"one of {LABELS}")
    if not claim.control().statement.strip():
        raise _broken(claim, "a control without words", "the control says which false statement it is")


def _outcomes(claim: Claim, setting: dict, samples: int, seed: int) -> list[Outcome]:
    """The first trials under a seed; a traced claim runs the batch that verification has compiled."""
    if not claim.traced:
        return [trial(claim, setting, trial_key(claim, seed, number)) for number in range(samples)]
    run = compiled(claim, tuple(setting.items()))
    batch = run(key_from(seed, claim.name), np.arange(max(samples, min(claim.batch, claim.trials))))
    return [jax.tree.map(lambda leaf, row=row: np.asarray(leaf)[row], batch) for row in range(samples)]


def _check_samples(claim: Claim, seed: int, samples: int) -> None:
    setting = claim.settings().resolve(None)
    sample = lambda key: claim.sample(setting, key)
    problem = (partial(jax.eval_shape, sample) if claim.traced else sample)(trial_key(claim, seed + 1, 0))
    if claim.pose(problem) is None:
        raise _broken(claim, f"a {type(problem).__name__}", f"sample() gives a {claim.problem.__name__}")
    shapes = set()
    for found in _outcomes(claim, setting, samples, seed + 1):
        for hypothesis in found.hypotheses:
            if not bool(np.all(hypothesis.holds)):
                raise _broken(
                    claim,
                    f"'{hypothesis.name}' fails: {hypothesis.value} {hypothesis.relation} {hypothesis.threshold}",
                    "hypotheses hold on sampled problems",
                )
        if np.isnan(found.predicted).any() or not np.isfinite(found.measured).all():
            raise _broken(
                claim,
                f"predicted {found.predicted}, measured {found.measured}",
                "predictions and measurements are finite",
            )
        shapes.add((found.predicted.shape, found.false.shape, found.measured.shape))
    if len(shapes) != 1:
        raise _broken(claim, f"shapes {shapes}", "shapes do not depend on the key")
    ((predicted, false, measured),) = shapes
    if predicted != false:
        raise _broken(claim, f"shapes {predicted} and {false}", "the control predicts what the claim predicts")
    if isinstance(claim.relation, (Rate, Limit, Order)):
        if measured != (len(claim.relation.rungs),):
            raise _broken(
                claim,
                f"shape {measured}",
                f"measure() gives one value for each of the {len(claim.relation.rungs)} rungs",
            )
        if isinstance(claim.relation, (Rate, Order)) and predicted != ():
            raise _broken(claim, f"shape {predicted}", "predict() gives one number, the exponent or the sign")
    elif predicted != measured:
        raise _broken(claim, f"shapes {predicted} and {measured}", "prediction and measurement have the same shape")
