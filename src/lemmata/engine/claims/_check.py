"""The conformance suite that every claim must pass, both lemmata's own claims and claims of third parties."""

import dataclasses
import difflib
import inspect
from functools import partial
from typing import Any

import jax
import numpy as np

from lemmata.engine.catalogue import about, misclassified
from lemmata.errors import ClaimError, SettingError

from ._answered import check_foreign
from ._bounds import AbstractBound
from ._claim import Claim, Status
from ._declared import check_declared
from ._equalities import EqualInMean
from ._family import budget_of
from ._kind import Kind
from ._ladders import Limit, Order, Rate
from ._population import Population
from ._problems import keys_in, stored_measurement
from ._registry import file_of
from ._relations import EXPONENT, FACTOR
from ._settings import Choice, Variable
from ._trials import Outcome, compiled, root_key, trial, trial_key
from ._verdict import Verdict
from ._verify import verify

TENTH = 0.1
_NEAR = FACTOR**2  # how loose a bound may be in its tightest trials if its loose control is rarely refuted


@dataclasses.dataclass(frozen=True)
class Conformance:
    """The result of the suite: the claim's name, its verdict, and how many problems were sampled for the checks."""

    name: str
    verdict: Verdict
    samples: int


def check_claim(claim: Claim | type[Claim], *, seed: int = 0, samples: int = 4) -> Conformance:
    """Check that a claim obeys the rules for claims, and return the result with the claim's verdict.

    The rules are as follows. The claim names its source, its title, its statement, and the quantity that it predicts or
    bounds. A bound has a trivial value, or states why it has none. No concrete method is overridden. A verification
    visits the declared range of every variable. Sampled problems have the population's type. Prediction, control and
    measurement are finite, and have the same shapes for every key. At the default budget, the verdict is as expected.
    The control (a false statement near the claim) is near enough, and the trials refute it. The share of trials that
    are dropped because a hypothesis fails is at most the share that the population declares.

    Args:
        claim: the claim, not its class.
        seed: seed of all randomness.
        samples: the number of problems that are sampled for the checks before the verdict.

    Raises:
        ClaimError: if the claim breaks a rule. The message states the first broken rule and how to comply with it.
    """
    if isinstance(claim, type):
        raise ClaimError(
            f"claim {claim.__name__}",
            found="a class",
            rule="an instance of the claim's class",
            remedy=f"pass {claim.__name__}()",
        )
    check_foreign(claim)
    check_writing(claim)
    check_ranges(claim)
    _check_samples(claim, seed, samples)
    verdict = verify(claim, seed=seed, progress=False)
    check_verdict(claim, verdict)
    return Conformance(claim.name, verdict, samples)


def _broken(claim: Claim, found: str, rule: str, remedy: str | None = None) -> ClaimError:
    return ClaimError(f"claim {claim.name}", found=found, rule=rule, remedy=remedy)


def check_writing(claim: Claim) -> None:
    """Check the words and methods of a claim without running it. Raise ClaimError if one of them is wrong."""
    check_declared(type(claim), file_of(claim))
    _check_words(claim)
    _check_accusation(claim)
    _check_names(claim)
    _check_methods(claim)


def check_ranges(claim: Claim) -> None:
    """Check that the extra settings of a verification include several values of each variable with a range.

    Raise ClaimError if all extra settings have the same value of a variable that may have other values.
    """
    for name, variable in claim.population.settings().variables.items():
        if (only := _pinned(variable)) is not None:
            raise _broken(
                claim,
                f"extra settings that all have {name}={only}",
                "extra settings that are spread over the whole declared range",
                "give two different ends as corners, or declare this single value as the range",
            )


def _check_words(claim: Claim) -> None:
    for attribute in ("title", "statement", "controls", "unexplained"):
        if not getattr(claim, attribute).strip():
            raise _broken(claim, f"no {attribute}", f"every claim defines {attribute}")
    if claim.title[0].islower():
        raise _broken(claim, f"title {claim.title!r}", "a title that begins with a capital letter")
    if not str(claim.source) or not claim.source.locator:
        raise _broken(claim, f"source {claim.source}", "a source and a place in the source, such as 'Theorem 2'")
    for name, variable in claim.population.settings().variables.items():
        try:
            variable.check(name, variable.default)
        except SettingError as error:
            raise _broken(claim, str(error), "a default of each setting within its bounds") from None
    if not claim.control.statement.strip():
        raise _broken(claim, "a control without a statement", "a control that states a false version of the claim")
    amiss = misclassified(about(type(claim).__module__))
    if amiss:
        raise _broken(claim, f"an ABOUT with {amiss}", "an ABOUT that uses known words only")
    if isinstance(claim.relation, AbstractBound) and not claim.trivial:
        raise _broken(
            claim,
            "no trivial value",
            "a bound must also give the trivial value, which holds without any theory",
            'define trivial(problem), or say why there is none: trivial = "..."',
        )


def _pinned(variable: Variable) -> Any:
    """The only value that all extra settings give to a variable, although its range has others; otherwise None."""
    values = sorted(set(variable.corners or ()))
    wide = len(variable.options) > 1 if isinstance(variable, Choice) else variable.low < variable.high
    return values[0] if wide and len(values) == 1 else None


def _check_accusation(claim: Claim) -> None:
    """Check that a claim that refutes a source quotes the source, and that no possible reading of its words is true."""
    if claim.expected is not Status.REFUTED:
        return
    if claim.passage is None and claim.kind not in (Kind.OWN, Kind.FOLKLORE):
        raise _broken(
            claim,
            f"a refuted {claim.kind} of {claim.source.key} without a passage",
            "a claim that refutes a source must quote the source's own words",
            "set passage = Passage(file, first, after, digest, says, right_if), or stated = Kind.OWN or Kind.FOLKLORE",
        )
    right = [own.words for own in claim.readings if own.verdict not in ("refuted", "ill-typed")]
    if claim.passage is not None and right:
        raise _broken(
            claim,
            f"a reading that is not refuted: {right[0]}",
            "a claim refutes a source only if the statement is false under every possible reading",
            "replace this claim by a supported claim with the true reading",
        )


def _check_names(claim: Claim) -> None:
    """Check that a claim's class defines only public names that its bases have. Other public names may be misspelt."""
    asked = {name for base in type(claim).__mro__[1:] for name in (*vars(base), *inspect.get_annotations(base))}
    for name in (*vars(type(claim)), *inspect.get_annotations(type(claim))):
        if not name.startswith("_") and name not in asked:
            near = difflib.get_close_matches(name, asked, n=1)
            remedy = f"did you mean {near[0]!r}?" if near else "begin the names of your own helpers with _"
            raise _broken(
                claim,
                f"{name!r}, which is not used",
                "every public name must be defined by a base class",
                remedy,
            )


def _check_methods(claim: Claim) -> None:
    """Check that concrete methods are not overridden, and that exactly one measurement is defined."""
    for thing in (claim, claim.population):
        owners: dict[str, type] = {}
        for cls in reversed(type(thing).__mro__):
            if cls.__module__.startswith(("equinox", "typing", "builtins", "abc", "collections")):
                continue
            for name, value in vars(cls).items():
                concrete = inspect.isfunction(value) and not getattr(value, "__isabstractmethod__", False)
                if concrete and name in owners and not name.startswith("__"):
                    found = f"{cls.__name__}.{name} overrides {owners[name].__name__}.{name}"
                    raise _broken(
                        claim, found, "a concrete method must not be overridden", "make the first method abstract"
                    )
                if concrete:
                    owners[name] = cls
    if (claim.measure is None) == (claim.measure_at is None):
        raise _broken(claim, "both measure and measure_at, or neither", "exactly one of them must be defined")
    if claim.measure is None and not claim.relation.rungs:
        raise _broken(
            claim,
            "measure_at with a relation that has no sizes",
            "measure_at needs a relation that is measured at several sizes",
        )


def check_verdict(claim: Claim, verdict: Verdict) -> None:
    """Check that a verdict is as expected and has enough trials. Otherwise, raise ClaimError."""
    if verdict.judged == 0:
        raise _broken(
            claim, f"no trial was judged: {verdict.status}, {verdict.reason}", "at least one trial that can be judged"
        )
    if verdict.status is not claim.expected:
        raise _broken(
            claim,
            f"verdict {verdict.status} at seed {verdict.seed}: {verdict.reason}",
            f"the expected verdict, {claim.expected}, at the default budget",
        )
    dropped = verdict.executed - verdict.judged
    share = dropped / verdict.executed  # 1 - judged / executed would round 5 of 100 up to more than 0.05
    if share > claim.population.drops:
        counts = ", ".join(f"'{name}' in {count}" for name, count in verdict.dropped.items())
        raise _broken(
            claim,
            f"that {share:.0%} of the trials were dropped, because these hypotheses failed: {counts}",
            f"at most {claim.population.drops:.0%} of the sampled problems may fail a hypothesis",
            "sample problems that satisfy the hypotheses, or declare `drops` in the population",
        )
    applied = [corner for corner in verdict.corners if corner.status is not Status.INAPPLICABLE]
    if 2 * len(applied) < len(verdict.corners):
        raise _broken(
            claim,
            (
                f"that hypotheses fail at {len(verdict.corners) - len(applied)} of the {len(verdict.corners)} extra "
                "settings"
            ),
            "within the declared ranges of the settings, the hypotheses must hold",
            "declare narrower ranges, or change the sampler so that its problems satisfy the hypotheses everywhere",
        )
    _check_control(claim, verdict)


def _check_control(claim: Claim, verdict: Verdict) -> None:
    control, rule = verdict.control, claim.control.statement
    if claim.control.loose:
        _check_loose(claim, verdict)
        return
    remedy = (
        "use a control nearer to the claim, sample problems on which the bound is tighter, or write Control(..., "
        'loose="why")'
    )
    if control.status is not Status.REFUTED:
        raise _broken(
            claim, f"that the control was {control.status}", f"the trials refute the control ({rule})", remedy
        )
    if control.violating is not None and control.violating < TENTH:
        found = f"control refuted by {control.violating:.0%} of the trials"
        raise _broken(claim, found, f"at least a tenth of the trials refute the control ({rule})", remedy)
    limit, exponents = claim.relation.farthest, isinstance(claim.relation, (Rate, Order))
    if limit is not None and control.farthest is not None and control.farthest > limit * (1 + 1e-9):
        found = f"control at a distance of {control.farthest:.3g}"
        raise _broken(claim, found, f"the control is at most {limit:g} away ({rule})", remedy)
    untouched = 0.0 if exponents or limit is None else 1.0
    if control.nearest is not None and control.nearest <= untouched:
        raise _broken(
            claim,
            "a component that the control does not change",
            f"the control changes every component ({rule})",
            remedy,
        )
    _check_resolution(claim, verdict, remedy)


def _check_loose(claim: Claim, verdict: Verdict) -> None:
    """If few trials refute a control far from the bound, check that 5 % of measurements are close to the bound."""
    _check_resolution(claim, verdict, "use a smaller margin and resolution")
    share, slack = verdict.control.violating, verdict.slack
    if share is None or share >= TENTH or slack is None or verdict.status is Status.VACUOUS:
        return
    nearest = slack[0] if claim.relation.label == "upper" else 1 / slack[2] if slack[2] else np.inf
    if nearest > _NEAR:
        raise _broken(
            claim,
            f"a control that is refuted by {share:.0%} of the trials, and a bound that is {nearest:.3g} times the "
            "measured value",
            (
                "at least a tenth of the trials must refute a loose control, unless the bound comes "
                f"within a factor {_NEAR:g} of the measured value"
            ),
            "use a control that differs from the bound by as much as the measured value does, or sample problems on "
            "which the bound is tighter",
        )


def _check_resolution(claim: Claim, verdict: Verdict, remedy: str) -> None:
    """Check that margin and resolution are at most half the distance to the control, if support depends on them.

    A control beyond the largest allowed distance is treated as if it had this distance.
    """
    relation, near = claim.relation, verdict.control.nearest
    if near is None or not isinstance(relation, (Rate, Limit, EqualInMean)):
        return
    apart = min(near, EXPONENT) if isinstance(relation, Rate) else 1 - 1 / min(near, FACTOR)
    if isinstance(relation, (Limit, EqualInMean)) and not relation.relative:
        apart = (near - 1) * (relation.margin + relation.resolution)
    for what, wide in (("resolution", relation.resolution), ("margin", relation.margin)):
        if wide > apart / 2 * (1 + 1e-9):
            found = f"{what} {wide:g}, and a control at distance {apart:.3g}"
            raise _broken(
                claim, found, f"the {what} must be at most half the distance between claim and control", remedy
            )


def _outcomes(claim: Claim, setting: dict, samples: int, seed: int) -> list[Outcome]:
    """The first trials of a claim with a given seed.

    For a traced claim, they run in the same compiled call as in a verification.
    """
    if not claim.traced:
        return [trial(claim, setting, trial_key(claim, seed, number)) for number in range(samples)]
    run, size = compiled(claim, tuple(setting.items()), budget_of(claim))
    batch = run(root_key(claim, seed), np.arange(size))
    return [jax.tree.map(lambda leaf, row=row: np.asarray(leaf)[row], batch) for row in range(min(samples, size))]


def _check_samples(claim: Claim, seed: int, samples: int) -> None:
    population: Population = claim.population
    setting = population.settings().resolve(None)
    sample = lambda key: population.sample(setting, key)
    problem = (partial(jax.eval_shape, sample) if claim.traced else sample)(trial_key(claim, seed + 1, 0))
    if not isinstance(problem, (population.problem, jax.ShapeDtypeStruct)):
        raise _broken(claim, f"a {type(problem).__name__}", f"the population samples a {population.problem.__name__}")
    held = keys_in(problem)
    if held:
        rule = "a problem holds no random keys, because prediction and measurement must not share randomness"
        raise _broken(claim, f"random keys in {', '.join(held)}", rule, "draw the numbers in sample, and store them")
    shapes, outcomes = set(), _outcomes(claim, setting, samples, seed + 1)
    for found in outcomes:
        if np.isnan(found.predicted).any() or not np.isfinite(found.measured).all():
            values = f"predicted {found.predicted}, measured {found.measured}"
            raise _broken(claim, values, "predictions and measurements must be finite")
        shapes.add((found.predicted.shape, found.false.shape, found.measured.shape))
    place = stored_measurement(claim, setting, seed + 1, [np.asarray(found.measured) for found in outcomes])
    if place is not None:
        raise _broken(claim, f"the measured value in {place}", "a problem must not contain the measured value")
    if len(shapes) != 1:
        raise _broken(claim, f"shapes {shapes}", "shapes that do not depend on the random key")
    ((predicted, false, measured),) = shapes
    if predicted != false:
        raise _broken(
            claim, f"shapes {predicted} and {false}", "predictions of the same shape from the claim and its control"
        )
    broken = claim.relation.misfit(predicted, measured)
    if broken:
        raise _broken(claim, f"shapes {predicted} and {measured}", broken)
