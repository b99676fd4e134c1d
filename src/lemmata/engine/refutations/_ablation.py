"""Find the hypotheses without which a statement is false, as far as a search for counterexamples shows this."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.core import check_real, require_float64
from lemmata.engine.claims import Claim, check_asked, hypotheses_of

from ._ascent import Ascent
from ._confirm import confirm
from ._found import Counterexample, Survived, Untested, address, evaluated
from ._pressure import contradicts, margins, searchable
from ._problem import Place, facts, free_fields, with_fields
from ._search import refute

_STARTS = 3
_LENGTHS = (0.1, 1.0, 10.0)  # lengths of a step beyond a hypothesis, relative to the problem's size
_STEPS = 60


@dataclasses.dataclass(frozen=True)
class Needed:
    """One hypothesis, and the result of a search for counterexamples without it.

    Args:
        hypothesis: the name of the hypothesis.
        counterexample: a problem on which the hypothesis and the statement fail. None if the search found no such
            problem, which does not prove that the statement holds without the hypothesis.
        untested: the reason why no problem could be tested; empty if at least one problem was tested.
    """

    hypothesis: str
    counterexample: Counterexample | None
    untested: str = ""

    def __str__(self) -> str:
        if self.untested:
            return f"{self.hypothesis}: not tested: {self.untested}"
        if self.counterexample is None:
            return f"{self.hypothesis}: no counterexample was found without this hypothesis"
        return (
            f"{self.hypothesis}: needed, because without this hypothesis the ratio reaches "
            f"{self.counterexample.ratio:.4g}"
        )


def ablate(
    claim: Claim, budget: float = 60.0, *, seed: int = 0, found: Callable[[Needed], None] = lambda one: None
) -> tuple[Needed, ...]:
    """Search for counterexamples, with one hypothesis at a time left out.

    The free fields of a problem are its arrays of floating-point numbers that the search may change. First, the free
    fields of a few problems are changed until this hypothesis fails and the others hold. A gradient ascent towards a
    contradiction starts from these problems. If it finds no counterexample, the whole search (`refute`) runs. This
    search cannot test a hypothesis that holds for all values of the free fields, for example a condition on a size.

    Args:
        claim: the claim.
        budget: the seconds for all hypotheses together.
        seed: the seed of all randomness.
        found: a function that is called with each result immediately, so that an interruption does not lose this
            result.

    Raises:
        PrecisionError: if float64 is off.
        SettingError: for a budget that is not above 0.
        KeyboardInterrupt: if a search was interrupted.

    >>> import jax
    >>> from lemmata.engine.claims import find
    >>> with jax.enable_x64(True):
    ...     (needed,) = ablate(find("exponential_near_one")[0], 20.0)
    >>> needed.hypothesis, needed.counterexample.ratio > 1
    ('the argument is small', True)
    """
    check_asked(claim, None, seed, None)
    check_real("budget", budget, "a finite number of seconds above 0", lambda seconds: seconds > 0)
    require_float64(f"a search for a counterexample to {claim.name}")
    default = claim.population.settings().default
    problem = claim.population.sample(default, jax.random.key(seed))
    names = dict.fromkeys(own.name for own in hypotheses_of(claim, problem) if own.checkable)
    needed = []
    for name in names:
        one = _beyond(claim, name, seed) or refute(claim, budget / len(names), seed=seed, without=name)
        if isinstance(one, Survived) and one.interrupted:
            raise KeyboardInterrupt
        own = one if isinstance(one, Counterexample) else None
        needed.append(Needed(name, own, one.reason if isinstance(one, Untested) else ""))
        found(needed[-1])
    return tuple(needed)


def _beyond(claim: Claim, name: str, seed: int) -> Counterexample | None:
    """A counterexample near problems that are moved until one hypothesis fails; None if there is none."""
    setting = claim.population.settings().default
    if not (claim.traced and searchable(claim)):
        return None
    ascent = None
    for number in range(_STARTS):
        place = Place(setting, seed, number)
        problem, key = place.problem(claim), place.keys(claim)[1]
        if not free_fields(claim, problem):
            return None
        ascent = ascent or Ascent(claim, problem, name)
        for start in _pushed(claim, name, problem, ascent, seed + number):
            found = ascent.climb(start, key, _STEPS)
            if not np.isfinite(found.kept):
                continue
            moved = dataclasses.replace(place, fields=ascent.fields_at(found.z))
            own = facts(claim, moved.problem(claim), key)
            said = contradicts(claim, own.predicted, own.measured, own.condition) and confirm(claim, moved, name)
            if said:
                blank = Counterexample(address(claim), moved, 0.0, 0.0, 0.0, (), said, number + 1)
                return evaluated(claim, blank)
    return None


def _pushed(claim: Claim, name: str, problem: Any, ascent: Ascent, seed: int) -> list[Any]:
    """Copies of a problem, with free fields changed so that the margin of a hypothesis falls until it fails.

    Other hypotheses may then fail, too. The gradient ascent moves the copy back until the other hypotheses hold.
    """
    z = ascent.point_of(problem)
    beside = lambda z: with_fields(problem, ascent.unravel(jnp.asarray(z)))

    def left(z: jax.Array) -> jax.Array:
        return margins([one for one in hypotheses_of(claim, beside(z)) if one.name == name]).min()

    drawn = np.random.default_rng(seed).normal(size=len(z))
    drawn, size = drawn / np.linalg.norm(drawn), max(float(np.linalg.norm(z)), 1e-3)
    # if a condition holds with equality, its margin has no slope there; the slope at a nearby point then gives the
    # direction
    slope = np.nan_to_num(np.asarray(jax.grad(left)(jnp.asarray(z + 1e-6 * size * drawn))))
    slope = slope / max(float(np.linalg.norm(slope)), 1e-300)
    ways = [z - length * size * way for length, way in itertools.product(_LENGTHS, (slope, slope - 0.3 * drawn))]
    return [beside(moved) for moved in ways if float(left(jnp.asarray(moved))) < 0]
