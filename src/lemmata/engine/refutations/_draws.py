"""Draw many problems of one shape at once, give their fields special values, and judge them in a compiled function."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.engine.claims import COMPILER, Claim, Real, hypotheses_of, measured, root_key, run_trials
from lemmata.interruption import heed

from ._pressure import margins, pressure, pressures
from ._problem import Place, free_fields, with_fields

FORMS = 9  # the number of forms that a free field may get after it was drawn; form 0 is no change
_AT_ONCE = 16  # rows that are computed in one batch


@dataclasses.dataclass(frozen=True)
class Drawn:
    """The results on R problems, one entry for each problem.

    Args:
        places: the places of the problems (setting, seed, number, and changed fields).
        inside: whether every hypothesis holds for the problem.
        pressure: the pressure (see `_pressure`); -inf if it is not a number, or if a hypothesis fails.
        margin: the smallest margin of the hypotheses.
        predicted, measured, condition: the predictions, measurements and condition numbers of the trials.
        failed: the number of problems that raised an error.
        error: the first of these errors, in one line.
    """

    places: list[Place]
    inside: Bool[np.ndarray, " R"]
    pressure: Float[np.ndarray, " R"]
    margin: Float[np.ndarray, " R"]
    predicted: np.ndarray
    measured: np.ndarray
    condition: np.ndarray
    failed: int = 0
    error: str = ""


class Draws:
    """Problems of one claim at settings that differ only in real numbers.

    The real numbers are traced, so the code is compiled once.

    Args:
        claim: the claim; its methods are JAX functions.
        setting: the setting that gives integers and choices; its real numbers are ignored.
        without: a hypothesis that need not hold.
        free: whether free fields take the forms of `formed`, and are part of the places.
    """

    def __init__(self, claim: Claim, setting: dict[str, Any], without: str | None = None, free: bool = True):
        variables = claim.population.settings().variables
        self.claim, self.without, self.free = claim, without, free
        self.real = [name for name in setting if isinstance(variables[name], Real)]
        self.rest = {name: value for name, value in setting.items() if name not in self.real}
        self._run = jax.jit(self._rows, compiler_options=COMPILER)

    def _rows(self, root: Key[Array, ""], rows: Any) -> Any:
        return jax.lax.map(lambda row: self._row(root, *row), rows, batch_size=_AT_ONCE)

    def _row(self, root: Key[Array, ""], number: Array, forms: Array, real: dict[str, Array]) -> Any:
        claim = self.claim
        sample_key, key = jax.random.split(jax.random.fold_in(root, number))
        problem = claim.population.sample({**self.rest, **real}, sample_key)
        fields = {}
        for i, name in enumerate(free_fields(claim, problem) if self.free else ()):
            own = jax.random.fold_in(sample_key, 1 + i)
            fields[name] = formed(jnp.asarray(getattr(problem, name), float), forms[i], own)
        problem = with_fields(problem, fields)
        condition = jnp.asarray(1.0 if claim.condition is None else claim.condition(problem), float)
        predicted, found = jnp.asarray(claim.predict(problem), float), measured(claim, problem, key)
        hypotheses = [one for one in hypotheses_of(claim, problem) if one.checkable and one.name != self.without]
        holds = jnp.asarray([jnp.all(one.holds) & ~jnp.any(one.undefined) for one in hypotheses]).all()
        margin = jnp.min(margins(hypotheses, self.without), initial=1.0)
        value = pressure(claim, predicted, found, condition)
        return fields, predicted, found, condition, holds, margin, value

    def judge(
        self, seed: int, numbers: Int[np.ndarray, " R"], forms: Int[np.ndarray, "R f"], settings: list[dict[str, Any]]
    ) -> Drawn:
        """Judge the problems with these trial numbers, forms of their free fields, and settings."""
        real = {name: np.array([one[name] for one in settings], float) for name in self.real}
        found = self._run(root_key(self.claim, seed), (numbers, forms, real))
        fields, predicted, found, condition, holds, margin, value = jax.tree.map(np.asarray, found)
        value = np.where(holds, np.nan_to_num(value, nan=-np.inf, posinf=np.inf), -np.inf)
        places = [
            Place(settings[i], seed, int(number), {name: stack[i] for name, stack in fields.items()})
            for i, number in enumerate(numbers)
        ]
        return Drawn(places, holds, value, np.nan_to_num(margin, nan=-1.0), predicted, found, condition)


def drawn_one_by_one(
    claim: Claim,
    setting: dict[str, Any],
    seed: int,
    count: int,
    without: str | None = None,
    late: Callable[[], bool] = lambda: False,
) -> Drawn:
    """Problems at one setting from the engine's own trials, for claims or settings that JAX cannot trace.

    Args:
        claim: the claim.
        setting: the setting.
        seed: the seed of all randomness.
        count: the number of problems.
        without: the name of a hypothesis that is left out.
        late: whether the time is up. At least one problem is drawn.

    Raises:
        KeyboardInterrupt: if Ctrl-C cut the trials short.
    """
    ended = False

    def until_late(done: int, total: int) -> None:
        nonlocal ended
        heed()
        ended = late()
        if ended:
            raise KeyboardInterrupt  # the finished trials are kept

    finished = run_trials(claim, setting, count, seed, progress=until_late)
    if finished.interrupted and not ended:
        raise KeyboardInterrupt
    own, error = finished.stacked, next(iter(finished.errors), "")
    if own is None:
        none = np.zeros(0)
        lost = len(finished.errors) if ended else count
        return Drawn([], none.astype(bool), none, none, none, none, none, lost, error)
    kept: Bool[np.ndarray, " R"] = np.ones(len(own.holds), bool)
    margin = np.ones(len(kept))
    for hypothesis in own.hypotheses:
        if hypothesis.checkable and hypothesis.name != without:
            kept &= np.asarray(hypothesis.holds) & ~np.asarray(hypothesis.undefined)
            margin = np.minimum(margin, np.nan_to_num(np.asarray(hypothesis.margin), nan=-1.0))
    value = np.where(kept, pressures(claim, own.predicted, own.measured, own.condition), -np.inf)
    places = [Place(setting, seed, int(number)) for number in finished.numbers]
    return Drawn(places, kept, value, margin, own.predicted, own.measured, own.condition,
                 len(finished.errors), error)  # fmt: skip


def unnumbered(drawn: Drawn) -> Bool[np.ndarray, " R"]:
    """Which problems have a prediction or a measurement that is NaN."""
    both = [np.isnan(np.asarray(own, float)).reshape(len(own), -1) for own in (drawn.predicted, drawn.measured)]
    return np.asarray(np.concatenate(both, axis=1).any(axis=1))


def formed(value: Float[Array, "..."], form: Int[Array, ""], key: Key[Array, ""]) -> Float[Array, "..."]:
    """A field in one of nine forms: unchanged, times 0.1, 0.01 or 10, signs, half zeros, equal, whole, or largest only.

    "signs" keeps only the signs of the numbers, "equal" sets all numbers to their mean modulus, and "whole" rounds
    them.

    Classical inequalities are often tight at numbers of such forms, which random draws rarely have.
    """
    size = jnp.abs(value)
    kept = jax.random.bernoulli(key, 0.5, value.shape)
    moved = [
        value, 0.1 * value, 0.01 * value, 10 * value, jnp.sign(value), jnp.where(kept, value, 0.0),
        jnp.full_like(value, size.mean()), jnp.round(value), jnp.where(size >= size.max(), value, 0.0),
    ]  # fmt: skip
    return jax.lax.select_n(form, *moved)
