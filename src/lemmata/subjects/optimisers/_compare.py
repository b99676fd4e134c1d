"""Fair comparisons of optimisers: equal numbers of random trials, and a test whether the difference may be chance."""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree

from lemmata.core import answer_of
from lemmata.errors import DataError, SettingError, ShapeError

from ._figure import best_curves, table_and_picture

Family = tuple[Callable[..., optax.GradientTransformation], Mapping[str, tuple[float, float]]]
_SHUFFLES = 2000


@dataclasses.dataclass(frozen=True)
class OptimiserComparison:
    """The result of `compare_optimisers`.

    Args:
        losses: for each optimiser, the loss after training in every trial. The loss is infinite if the trial diverged.
        settings: for each optimiser, the settings of each trial, one entry for each trial.
        luck: the probability that identical optimisers, with these numbers of trials, differ by at least as much as the
            compared optimisers. This probability is the p-value of a permutation test on the ranks of all losses. The
            statistic is the difference between the two best optimisers in the expected best rank of half of the trials.
            The permutations shuffle the trials among the optimisers.
        seconds: the time for all trials of each optimiser in seconds, including compilation.
        state_bytes: the size of each optimiser's state for these parameters, in bytes.
    """

    losses: dict[str, np.ndarray]
    settings: dict[str, list[dict[str, float]]]
    luck: float
    seconds: dict[str, float]
    state_bytes: dict[str, int]

    @property
    def order(self) -> list[str]:
        """The names of the optimisers, ordered by the expected best loss of half of the trials, the best first."""
        half = max(len(next(iter(self.losses.values()))) // 2, 1)
        return sorted(self.losses, key=lambda name: expected_best(self.losses[name], half))

    def best(self, name: str) -> dict[str, float]:
        """Return the settings of the best trial of the optimiser `name`."""
        return self.settings[name][int(np.argmin(self.losses[name]))]

    def curve(self, name: str, *, level: float = 0.9, seed: int = 0) -> np.ndarray:
        """Return a row (value, low, high) for each number k of trials: the expected best loss and a bootstrap band."""
        losses, rng = self.losses[name], np.random.default_rng(seed)
        drawn = rng.choice(losses, (400, len(losses)))
        rows = []
        for k in range(1, len(losses) + 1):
            ends = np.quantile(
                [expected_best(row, k) for row in drawn], [(1 - level) / 2, (1 + level) / 2], method="nearest"
            )
            rows.append((expected_best(losses, k), *ends))
        return np.array(rows)

    def figure(self, *, level: float = 0.9) -> Any:
        """Return an Altair chart of the expected best loss of k trials against k, with bootstrap bands.

        The chart leaves out numbers k for which the expected best loss is infinite.

        Args:
            level: the confidence level of the bands.
        """
        return best_curves({name: self.curve(name, level=level) for name in self.order})

    def _repr_html_(self) -> str:
        return table_and_picture(str(self), self.figure())

    def __str__(self) -> str:
        half = max(len(next(iter(self.losses.values()))) // 2, 1)
        lines = [f"{'optimiser':16} {f'best of {half}':>12} {'best':>12} {'diverged':>9} {'seconds':>8} {'state':>10}"]
        for name in self.order:
            losses = self.losses[name]
            lines.append(
                f"{name:16} {expected_best(losses, half):12.4g} {losses.min():12.4g} {np.isinf(losses).sum():9d} "
                f"{self.seconds[name]:8.1f} {self.state_bytes[name]:10,d}"
            )
        return "\n".join(
            [*lines, f"identical optimisers would differ as much by luck with probability {self.luck:.2g}"]
        )


def expected_best(losses: Float[np.ndarray, " n"], k: int) -> float:
    """Return the expected smallest of k losses that are drawn from the given losses without replacement.

    The i-th smallest of n losses is the best of the k drawn losses with probability C(n - i, k - 1)/C(n, k). If k or
    more losses are infinite, the result is infinite.

    Raises:
        SettingError: for k below 1 or above n.

    >>> expected_best(np.array([3.0, 1.0, 2.0]), 2)
    1.3333333333333333
    """
    n = len(losses)
    if not 1 <= k <= n:
        raise SettingError("k", found=k, rule=f"a whole number from 1 to {n}, the number of losses",
                           remedy="pass a smaller k or more losses")  # fmt: skip
    chances = _chances(n, k)
    return float(np.sort(losses)[chances > 0] @ chances[chances > 0])


def _chances(n: int, k: int) -> np.ndarray:
    """Return, for each i, the probability that the i-th smallest of n losses is the best of k drawn losses."""
    return np.array([math.comb(n - i, k - 1) for i in range(1, n + 1)]) / math.comb(n, k)


def compare_optimisers(
    loss: Callable[[PyTree], Float[Array, ""]],
    params: PyTree,
    transforms: Mapping[str, Family],
    *,
    trials: int = 16,
    steps: int = 200,
    evaluate: Callable[[PyTree], Float[Array, ""]] | None = None,
    seed: int = 0,
) -> OptimiserComparison:
    """Train with each optimiser under the same number of random settings, and compare the losses after training.

    The result also contains the probability that the difference is chance.

    Of two identical optimisers with k_A and k_B trials, the first has the best run with probability k_A/(k_A + k_B).
    Therefore all optimisers get the same number of trials. Settings are drawn uniformly on a logarithmic scale. The
    optimisers are ordered by the expected best loss of half of the trials, which does not depend on the best trial
    alone.

    Args:
        loss: a differentiable function of the parameters that returns one number.
        params: the parameters at which every trial starts.
        transforms: for each name of an optimiser, a pair of a function and ranges. The function returns an optax
            transformation. The ranges are pairs (low, high), one for each argument of the function, by name.
        trials: the number of trials for each optimiser, each with random settings.
        steps: the number of steps of every trial.
        evaluate: a function of the parameters, for example the loss on held-out data. The comparison uses the value of
            this function after training. By default, the function is `loss`.
        seed: the random seed of the settings and of the shuffles.

    Raises:
        SettingError: for fewer than two optimisers or trials, a range that is not 0 < low <= high, or a loss that JAX
            cannot compute or differentiate.
        ShapeError, DataError: for a loss that is not one real number.

    >>> loss = lambda w: jnp.sum(jnp.arange(1.0, 4.0) * (w - 1) ** 2)
    >>> rates = {"learning_rate": (1e-3, 1e-1)}
    >>> pair = {"sgd": (optax.sgd, rates), "adam": (optax.adam, rates)}
    >>> compared = compare_optimisers(loss, jnp.zeros(3), pair, trials=6)
    >>> [len(losses) for losses in compared.losses.values()], 0 < compared.luck <= 1
    ([6, 6], True)
    """
    if len(transforms) < 2 or trials < 2:
        raise SettingError(
            "optimisers and trials",
            found=f"{len(transforms)} optimisers and {trials} trials",
            rule="at least two optimisers and two trials",
        )
    _check_scalar("loss", loss, params, jax.value_and_grad)
    if evaluate is not None:
        _check_scalar("evaluate", evaluate, params, lambda function: lambda at: (function(at), None))
    losses, settings, seconds, stored = {}, {}, {}, {}
    rng = np.random.default_rng(seed)
    for name, (make, space) in transforms.items():
        drawn = {key: _drawn(name, key, limits, trials, rng) for key, limits in space.items()}
        began = time.perf_counter()
        losses[name] = _final(loss, evaluate or loss, params, make, drawn, trials, steps)
        seconds[name] = time.perf_counter() - began
        settings[name] = [{key: float(values[row]) for key, values in drawn.items()} for row in range(trials)]
        state = jax.eval_shape(make(**settings[name][0]).init, params)
        stored[name] = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    return OptimiserComparison(losses, settings, _luck(losses, trials, rng), seconds, stored)


def _check_scalar(name: str, function: Callable, params: PyTree, wrapped: Callable[[Callable], Callable]) -> None:
    """Raise an error unless the function returns one real number, and JAX can trace wrapped(function). For example,
    `wrapped` gives the gradient.
    """
    rule = "a function of the parameters in JAX" + ("" if name == "evaluate" else " that can be differentiated")
    remedy = "write it with jax.numpy, without numpy, math, or an `if` on its values"
    ask = lambda function: answer_of(name, jax.eval_shape, function, params, rule=rule, remedy=remedy)
    found = ask(lambda at: jax.tree.map(jnp.asarray, function(at)))
    shapes = [leaf.shape for leaf in jax.tree.leaves(found)]
    if shapes != [()]:
        remedy = "average over the rows with jnp.mean" if shapes else f"return the value of {name}"
        raise ShapeError(name, found=f"values of shapes {shapes}", rule="a single number", remedy=remedy)
    kind = jax.tree.leaves(found)[0].dtype
    if not jnp.issubdtype(kind, jnp.floating):
        remedy = "return a float, for example with jnp.asarray(value, float)"
        raise DataError(name, found=f"a number of type {kind}", rule="a real floating-point number", remedy=remedy)
    ask(wrapped(lambda at: jnp.asarray(function(at))))


def _drawn(name: str, key: str, limits: tuple[float, float], trials: int, rng: np.random.Generator) -> np.ndarray:
    low, high = limits
    if not 0 < low <= high < np.inf:
        raise SettingError(f"{name}: {key}", found=limits, rule="a range (low, high) with 0 < low <= high")
    return low * (high / low) ** rng.uniform(size=trials)


def _final(
    loss: Callable,
    evaluate: Callable,
    params: PyTree,
    make: Callable[..., optax.GradientTransformation],
    drawn: Mapping[str, np.ndarray],
    trials: int,
    steps: int,
) -> np.ndarray:
    """Return the value of `evaluate` after training in every trial. All trials share one compilation."""

    def trial(settings: dict[str, Any]) -> Array:
        transform = make(**settings)

        def one(_, carry):
            at, state = carry
            update, state = transform.update(jax.grad(lambda at: jnp.asarray(loss(at)))(at), state, at)
            return optax.apply_updates(at, update), state

        return jnp.asarray(evaluate(jax.lax.fori_loop(0, steps, one, (params, transform.init(params)))[0]))

    rows = {key: jnp.asarray(values) for key, values in drawn.items()}
    run = jax.jit(lambda rows: jax.lax.map(trial, rows) if rows else jnp.repeat(trial({}), trials))
    values = np.asarray(run(rows), float)
    return np.where(np.isfinite(values), values, np.inf)


def _luck(losses: dict[str, np.ndarray], trials: int, rng: np.random.Generator) -> float:
    """Return the p-value of the difference between the two best optimisers, from permutations of the ranks of losses.

    A diverged trial has the last rank.
    """
    pooled = np.concatenate(list(losses.values()))
    ranks = np.searchsorted(np.unique(pooled), pooled).astype(float)
    shuffled = np.stack([ranks, *(rng.permutation(ranks) for _ in range(_SHUFFLES))])
    best = np.sort(shuffled.reshape(-1, len(losses), trials), axis=2) @ _chances(trials, max(trials // 2, 1))
    first, second = np.sort(best, axis=1)[:, :2].T
    gaps = second - first
    return float(np.mean(gaps >= gaps[0] - 1e-9))
