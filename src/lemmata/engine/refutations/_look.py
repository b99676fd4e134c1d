"""Search at one setting: draw problems, and raise the pressure (see `_pressure`) from some of them."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from lemmata.engine.claims import Claim, Equal, Real
from lemmata.interruption import heed

from ._ascent import Ascent
from ._draws import FORMS, Drawn, Draws, drawn_one_by_one, unnumbered
from ._evolution import evolve
from ._pressure import allowed, contradicts, pressure
from ._problem import Place, called_free, facts, free_fields, with_fields
from ._region import beside

_PROBLEMS = 64
_PLAIN = 24  # problems that are drawn at exactly this setting and are not changed
_HIGHEST, _OTHERS = 2, 2  # from which the search starts: problems with the highest pressure, and others
_STEPS = 60
_SHAPES = 8  # the largest number of compiled programs that are kept


@dataclasses.dataclass(frozen=True)
class Seen:
    """The result of a search at one setting.

    Args:
        value: the largest pressure (see `pressure`) that was found.
        margin: the largest value, over all problems, of the smallest margin of a problem's hypotheses. If it is
            negative, no problem satisfies all hypotheses.
        setting: the setting with the largest pressure; its real numbers may differ from the requested ones.
        place: the place that contradicts the claim; None if there is none.
    """

    value: float
    margin: float
    setting: dict[str, Any]
    place: Place | None = None


@dataclasses.dataclass
class Look:
    """A search for a single problem that contradicts a claim, with its counts and its best result so far."""

    claim: Claim
    seed: int
    without: str | None = None
    fixed: frozenset[str] = frozenset()
    settings: int = 0
    trials: int = 0
    climbed: int = 0
    failed: int = 0
    judged: int = 0
    error: str = ""
    best: float = -math.inf
    place: Place | None = None
    traced: bool | None = None
    shapes: dict[tuple[Any, ...], tuple[Draws, list[Ascent]]] = dataclasses.field(default_factory=dict)
    late: Callable[[], bool] = lambda: False

    def at(self, setting: dict[str, Any], number: int) -> Seen:
        """Search a setting. Return its largest pressure, and a place that contradicts the claim if one was found."""
        seen = self._seen(setting, number)
        self.settings += 1  # a setting that Ctrl-C cut short does not count
        return seen

    def _seen(self, setting: dict[str, Any], number: int) -> Seen:
        drawn = self._drawn(setting, number)
        self.trials, self.failed = self.trials + len(drawn.places), self.failed + drawn.failed
        self.error = self.error or drawn.error
        if not drawn.places:
            return Seen(-math.inf, -1.0, setting)
        predicted, measured = drawn.predicted.shape[1:], drawn.measured.shape[1:]
        misfit = self.claim.relation.misfit(predicted, measured)
        if misfit is not None:
            said = f"shapes {predicted} of the prediction and {measured} of the measurement: {misfit}"
            self.failed, self.error = self.failed + len(drawn.places), self.error or said
            return Seen(-math.inf, -1.0, setting)
        lost = drawn.inside & unnumbered(drawn)
        self.failed, self.judged = self.failed + int(lost.sum()), self.judged + int((drawn.inside & ~lost).sum())
        order = np.argsort(-drawn.pressure)
        inside = drawn.inside & (drawn.pressure > -np.inf)
        top = int(order[0])
        nearest = float(drawn.margin.max()) if not inside.any() else max(0.0, float(drawn.margin[inside].max()))
        seen = Seen(float(drawn.pressure[top]), nearest, drawn.places[top].setting)
        if not inside.any():
            return seen
        for row in order[: int(inside.sum())]:
            against = contradicts(self.claim, drawn.predicted[row], drawn.measured[row], drawn.condition[row])
            self._note(float(drawn.pressure[row]), drawn.places[row], against)
            if against:
                return dataclasses.replace(seen, place=drawn.places[row])
            if not drawn.pressure[row] > 0:
                break
        starts = [*order[:_HIGHEST], *np.flatnonzero(inside[:_PLAIN])[:_OTHERS]]
        return self._raised([drawn.places[row] for row in dict.fromkeys(starts) if inside[row]], seen)

    def _drawn(self, setting: dict[str, Any], number: int) -> Drawn:
        """Draw problems of a setting. For a claim in JAX, also change their free fields and their real settings."""
        seed = self.seed + number
        if self.claim.traced and self.traced is not False:
            rng, space = np.random.default_rng(seed), self.claim.population.settings()
            forms = rng.integers(0, FORMS, (_PROBLEMS, len(called_free(self.claim))))
            forms[:_PLAIN] = 0
            try:
                draws = self._shape(setting)[0]
                moved = [name for name in draws.real if name not in self.fixed]
                settings = [setting] * _PLAIN + beside(space, setting, moved, _PROBLEMS - _PLAIN, rng)
                drawn = draws.judge(seed, np.arange(_PROBLEMS), forms, settings)
                self.traced = True
                return drawn
            except Exception:  # a population may need its settings as Python numbers
                if self.traced:
                    raise
                self.traced = False
        return drawn_one_by_one(self.claim, setting, seed, _PROBLEMS, self.without, self.late)

    def _shape(self, setting: dict[str, Any]) -> tuple[Draws, list[Ascent]]:
        variables = self.claim.population.settings().variables
        name = tuple(value for key, value in setting.items() if not isinstance(variables[key], Real))
        if name not in self.shapes:
            while len(self.shapes) >= _SHAPES:
                del self.shapes[next(iter(self.shapes))]
            self.shapes[name] = (Draws(self.claim, setting, self.without), [])
        return self.shapes[name]

    def ascent(self, setting: dict[str, Any], problem: Any) -> Ascent:
        """The compiled ascent for problems of this setting that have the shape of the given problem."""
        known = self._shape(setting)[1]
        for one in known:
            if one.fits(problem):
                return one
        known[:] = [Ascent(self.claim, problem, self.without)]
        return known[0]

    def _raised(self, places: list[Place], seen: Seen) -> Seen:
        """Raise the pressure from some problems by gradient ascent, and from the best of them also without derivatives.

        For a claim that is not written in JAX, search from each of the problems without derivatives.
        """
        highest, start = -math.inf, None
        for place in places:
            if self.late() or not free_fields(self.claim, place.problem(self.claim)):
                return seen
            self.climbed += 1
            value, moved, against = self._climbed(place) if self.claim.traced else self._evolved(place)
            if against:
                return dataclasses.replace(seen, value=value, place=moved)
            if value > highest:
                highest, start = value, moved
        if start is not None and self.claim.traced:
            value, start, against = self._evolved_and_climbed(start)
            highest = max(highest, value)
            if against:
                return dataclasses.replace(seen, value=value, place=start)
        if start is not None and highest > seen.value:
            return dataclasses.replace(seen, value=highest, setting=start.setting)
        return seen

    def _climbed(self, place: Place) -> tuple[float, Place, bool]:
        problem, key = place.problem(self.claim), place.keys(self.claim)[1]
        ascent = self.ascent(place.setting, problem)
        top = ascent.climb(problem, key, _STEPS)
        moved = dataclasses.replace(place, fields=ascent.fields_at(top.z))
        against = top.holds and contradicts(self.claim, top.predicted, top.measured, top.condition)
        self._note(top.kept, moved, against)
        return top.kept, moved, against

    def _evolved_and_climbed(self, place: Place) -> tuple[float, Place, bool]:
        problem, key = place.problem(self.claim), place.keys(self.claim)[1]
        ascent, arrays = self.ascent(place.setting, problem), eqx.filter(problem, eqx.is_array)
        z = evolve(lambda z: ascent.at(z, arrays, key).kept, ascent.point_of(problem), place.number)[0]
        return self._climbed(dataclasses.replace(place, fields=ascent.fields_at(z)))

    def _evolved(self, place: Place) -> tuple[float, Place, bool]:
        claim, problem, key = self.claim, place.problem(self.claim), place.keys(self.claim)[1]
        fields = {name: np.asarray(getattr(problem, name), float) for name in free_fields(claim, problem)}
        flat, unravel = ravel_pytree(fields)

        def height(z: np.ndarray) -> float:
            heed()
            if self.late():
                return -np.inf
            try:
                own = facts(claim, with_fields(problem, unravel(jnp.asarray(z))), key)
            except Exception:  # a claim's own code may raise any error for numbers that were not drawn
                return -np.inf
            if not allowed(own.hypotheses, self.without):
                return -np.inf
            found = float(pressure(claim, *map(jnp.asarray, (own.predicted, own.measured, own.condition))))
            return found if np.isfinite(found) else -np.inf

        z, value = evolve(height, np.asarray(flat), place.number)
        moved = dataclasses.replace(place, fields={k: np.asarray(v) for k, v in unravel(jnp.asarray(z)).items()})
        own = facts(claim, moved.problem(claim), key)
        against = bool(np.isfinite(value)) and contradicts(claim, own.predicted, own.measured, own.condition)
        self._note(value, moved, against)
        return value, moved, against

    def _note(self, value: float, place: Place, against: bool) -> None:
        """Store the largest pressure and its place.

        For a bound, a positive pressure that is only a rounding error counts as 0. The largest pressure is that of
        problems on which the bound holds, so a contradiction is not stored here.
        """
        if not isinstance(self.claim.relation, Equal):
            value = -math.inf if against else min(value, 0.0)
        if value > self.best:
            self.best, self.place = value, place
