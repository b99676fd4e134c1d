"""Search for counterexamples to statements about a probability, a mean or a rate.

One problem cannot contradict such a statement, but many problems can. So the search looks for a setting of the problems
at which the statement fails.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from lemmata.engine.claims import AtLeast, AtMost, Claim, Sample, Status, failure_limits, verify

from ._draws import Draws, unnumbered
from ._found import LEVEL, Counterexample, address, judged
from ._look import Seen
from ._problem import Place
from ._region import beside

_VARIANTS = 8  # settings that differ only in real numbers and are tested at once
_ROWS = 64  # trials of each of these settings in one call
_SHAPES = 8  # the largest number of compiled programs that are kept
_EXPECTED = 20  # violations that the first trials of a true statement may have on average
_AGAIN = 4  # factor by which the number of trials is increased for a statement that seems false
_SUSPECT = 0.05
_POWER = 0.9
_MOST = 2**17  # the largest number of trials of a confirmation
_FRESH = 50_000  # added to a seed for a confirmation; one search uses fewer seeds than this


@dataclasses.dataclass
class Chances:
    """A search for a setting at which violations are too frequent, or a mean or rate differs from the stated value.

    Args:
        claim: the claim.
        seed: the seed of the first setting. Each further setting has the next seed.
        patience: the seconds for one setting.
        clock: the clock that counts these seconds.
    """

    claim: Claim
    seed: int
    patience: float
    fixed: frozenset[str] = frozenset()
    clock: Callable[[], float] = time.monotonic
    settings: int = 0
    trials: int = 0
    climbed: int = 0
    failed: int = 0
    judged: int = 0
    error: str = ""
    attempts: int = 0
    best: float = -math.inf
    place: Place | None = None
    traced: bool | None = None
    shapes: dict[tuple[Any, ...], Draws] = dataclasses.field(default_factory=dict)

    @property
    def delta(self) -> float:
        """The probability with which a bound may fail; 0 for statements that are not bounds."""
        relation = self.claim.relation
        return relation.delta if isinstance(relation, AtMost | AtLeast) else 0.0

    def at(self, setting: dict[str, Any], number: int) -> Seen:
        """Search a setting.

        Return how strongly the trials there contradict the statement, and a place where it seems to fail.
        """
        seen = self._seen(setting, number)
        self.settings += 1  # a setting that Ctrl-C cut short does not count
        return seen

    def _seen(self, setting: dict[str, Any], number: int) -> Seen:
        if self.delta and self.claim.traced and self.traced is not False:
            try:
                seen = self._violated(setting, self.seed + number)
                self.traced = True
                return seen
            except Exception:  # a population may need its settings as Python numbers
                if self.traced:
                    raise
                self.traced = False
        return self._verified(setting, self.seed + number)

    def _violated(self, setting: dict[str, Any], seed: int) -> Seen:
        space, delta = self.claim.population.settings(), self.delta
        draws = self._shape(setting)
        moved = [name for name in draws.real if name not in self.fixed]
        settings = [setting]
        if moved:
            settings += beside(space, setting, moved, _VARIANTS - 1, np.random.default_rng(seed))
        wanted = int(np.clip(_EXPECTED / delta, 256, 4096))
        failures, counted, margin = self._counted(draws, seed, settings * (_VARIANTS // len(settings)), wanted, 0)
        if len(settings) == 1:
            failures, counted = failures.sum(keepdims=True), counted.sum(keepdims=True)
        if not counted.any():
            return Seen(-math.inf, margin, setting)
        share = (failures + 0.5) / (counted + 1)
        top = int(np.argmax(share))
        own, failed, count = settings[top], int(failures[top]), int(counted[top])
        if count and failed > delta * count:
            more, added, _ = self._counted(draws, seed, [own] * _VARIANTS, _AGAIN * wanted // _VARIANTS, 2**20)
            failed, count = int(more.sum()), int(added.sum())
        value, place = math.log((failed + 0.5) / (count + 1) / delta), Place(own, seed, 0)
        if value > self.best:
            self.best, self.place = value, place
        suspect = count > 0 and failure_limits(failed, count, _SUSPECT)[0] > delta
        trials = confirming(delta, failed / count, LEVEL / 2 ** (self.attempts + 1)) if suspect else None
        return Seen(value, max(margin, 0.0), own, dataclasses.replace(place, number=trials) if trials else None)

    def _shape(self, setting: dict[str, Any]) -> Draws:
        draws = Draws(self.claim, setting, free=False)
        name = tuple(draws.rest.items())
        while name not in self.shapes and len(self.shapes) >= _SHAPES:
            del self.shapes[next(iter(self.shapes))]
        return self.shapes.setdefault(name, draws)

    def _counted(
        self, draws: Draws, seed: int, settings: list[dict[str, Any]], wanted: int, start: int
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The numbers of violations and of trials at each setting, and the largest margin of the hypotheses."""
        failures, counted, margin = np.zeros(len(settings), int), np.zeros(len(settings), int), -1.0
        relation = self.claim.relation
        assert isinstance(relation, AtMost | AtLeast)
        forms, rows = np.zeros((len(settings) * _ROWS, 0), int), [one for one in settings for _ in range(_ROWS)]
        until = math.inf
        while counted.max() < wanted and self.clock() < until:
            drawn = draws.judge(seed, np.arange(len(rows)) + start, forms, rows)
            until = min(until, self.clock() + self.patience)  # the first call, with the compilation, does not count
            start += len(rows)
            self.trials += len(rows)
            violated = relation.violations(Sample(drawn.predicted, drawn.measured, drawn.condition)) & drawn.inside
            failures += violated.reshape(len(settings), -1).sum(axis=1)
            lost = drawn.inside & unnumbered(drawn)
            self.failed += int(lost.sum())
            self.judged += int((drawn.inside & ~lost).sum())
            counted += drawn.inside.reshape(len(settings), -1).sum(axis=1)
            margin = max(margin, float(drawn.margin.max()))
            if not drawn.inside.any():
                break
        return failures, counted, margin

    def _verified(self, setting: dict[str, Any], seed: int) -> Seen:
        """Verify the statement. Return -log of the p-value, and the place if the statement is refuted."""
        verdict = verify(self.claim, setting, seed=seed, corners=0, progress=False)
        if verdict.interrupted:
            raise KeyboardInterrupt
        self.trials += verdict.executed
        self.judged += verdict.judged
        if verdict.status in (Status.FAILED, Status.INAPPLICABLE):
            self.error = self.error or verdict.reason
        if verdict.status is Status.FAILED:
            self.failed += max(verdict.executed, 1)
            return Seen(-math.inf, -1.0, setting)
        value, place = -math.log(max(verdict.p_value, 1e-300)), Place(setting, seed, 0)
        if value > self.best:
            self.best, self.place = value, place
        return Seen(value, 0.0, setting, place if verdict.status is Status.REFUTED else None)

    def confirmed(self, place: Place) -> Counterexample | None:
        """Verify again, with new randomness, a statement that seems to fail.

        Each attempt spends half of the level that earlier attempts have left.
        """
        self.attempts += 1
        budget = place.number or None
        place = dataclasses.replace(place, seed=place.seed + _FRESH, number=0)
        found = judged(self.claim, place, budget, LEVEL / 2**self.attempts)
        if not found["confirmed"]:
            return None
        self.trials += budget or 0
        return Counterexample(
            address(self.claim), place, trials=self.trials, alone=False, budget=budget, level=LEVEL / 2**self.attempts,
            **found,
        )  # fmt: skip


def confirming(delta: float, share: float, level: float) -> int | None:
    """The number of trials after which an exact limit probably shows a violation rate above delta.

    The result is None if this number is too large.

    >>> confirming(0.1, 0.2, 1e-4)
    1024
    >>> confirming(0.1, 0.1001, 1e-4)
    """
    trials = 256
    while trials <= _MOST:
        critical = stats.binom.isf(level / 2, trials, delta)
        if stats.binom.sf(critical, trials, (3 * share + delta) / 4) >= _POWER:
            return trials
        trials *= 2
    return None
