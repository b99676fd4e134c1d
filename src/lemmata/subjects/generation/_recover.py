"""Recover a signal in the range of a generator from a few linear measurements, and predict the error of the signal."""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy import optimize, stats

from lemmata.answers import Condition, inside, whole
from lemmata.core import numbers_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

_CLAIMS = (
    "generation.measurements.gaussian_measurements",
    "generation.measurements.recovery_bound",
    "generation.inpainting.inpainting_noise",
)
_SAME = 1.01  # restarts with a residual within this factor of the least residual agree


@dataclasses.dataclass(frozen=True, eq=False)
class Recovery:
    """A signal that was recovered from linear measurements.

    Args:
        signal: the recovered signal generator(latent), from the best restart.
        latent: the latent variables of this signal.
        residual: the distance between the signal's measurements and the measured values b.
        error: the expected distance from the nearest signal of the generator. This number assumes that the residual is
            noise of equal variance in all measurements, and that the generator is linear near the recovered signal. The
            error is infinite if the measurements do not determine the latent variables, or if m is at most k.
        interval: a confidence interval of this distance. The interval accounts for the sampling error of the noise
            variance and for the variation of the distance.
        factor: the factor with which the squared part of the signal outside the range enters the squared error,
            averaged over directions. The factor belongs to these measurements and the linearised generator. The least
            factor is 1.
        predicted: the mean of this factor for normal measurements, 1 + k/(m - k - 1), or infinity if m is at most k +
            1.
        noise: the standard deviation of the noise, from the residual and its m - k degrees of freedom. The value is
            infinite if m is at most k.
        deviations: the standard deviation that this noise causes in each entry of the signal.
        agreeing: the share of restarts that end with nearly the least residual.
        residuals: the residuals of all restarts in ascending order.
        measurements: the number m of measurements.
        dimension: the number k of latent variables.
        level: the confidence level of the interval.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    signal: Float[np.ndarray, " n"]
    latent: Float[np.ndarray, " k"]
    residual: float
    error: float
    interval: tuple[float, float]
    factor: float
    predicted: float
    noise: float
    deviations: Float[np.ndarray, " n"]
    agreeing: float
    residuals: Float[np.ndarray, " r"]
    measurements: int
    dimension: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        low, high = self.interval
        expected = f"expected error {self.error:.3g} ({100 * self.level:g} % interval {low:.3g} to {high:.3g})"
        if not np.isfinite(self.error):
            expected = "no bound on the expected error is known, even"
        lines = [
            f"{self.measurements} measurements of {len(self.signal)} entries, {self.dimension} latent variables: "
            f"residual {self.residual:.3g}",
            f"{expected} if the residual is noise",
            (
                f"the squared part that the generator cannot make enters the squared error {self.factor:.3g} "
                f"times (normal measurements: {self.predicted:.3g})"
            ),
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the residuals of all restarts as an Altair chart."""
        import altair as alt

        rows = [{"restart": place + 1, "residual": value} for place, value in enumerate(self.residuals.tolist())]
        chart = alt.Chart(alt.Data(values=rows)).mark_point(filled=True)
        x = alt.X("restart:O", title="restart, by residual")
        return chart.encode(x=x, y=alt.Y("residual:Q", title="residual")).properties(width=360, height=180)


def recover(
    generator: Any, a: Any, b: Any, latent: int | float, *, restarts: int | float = 10, level: float | int = 0.95,
    seed: int = 0,
) -> Recovery:  # fmt: skip
    """Find the signal of a generator that fits linear measurements best, and predict its distance from the true
    signal.

    Let G be the generator, A the measurements and b the measured values. The squared residual |A G(z) - b|² is
    minimised over z from several random starts. For the prediction, the generator is linearised at the best z, with the
    derivative J. Then noise in b is multiplied by J (AJ)^+. The part of the signal outside the range of the generator
    is multiplied by J (AJ)^+ A.

    Args:
        generator: a function of latent variables (k,) that returns a signal (n,), written with jax.numpy.
        a: the measurements, a matrix A of shape (m, n) with one measurement in each row.
        b: the measured values, (m,).
        latent: the number k of latent variables.
        restarts: the number of random starts, from normal latent variables.
        level: the confidence level of the interval.
        seed: the random seed of the starts.

    Raises:
        SettingError: if the generator cannot be differentiated, or a setting is invalid.
        ShapeError, DataError: if the arrays are invalid or do not fit each other.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> w, a = np.linalg.qr(rng.normal(size=(100, 5)))[0], rng.normal(size=(20, 100))
        >>> found = recover(lambda z: w @ z, a, a @ w @ np.ones(5), 5)
        >>> bool(np.abs(found.signal - w @ np.ones(5)).max() < 1e-3), round(found.predicted, 3)
        (True, 1.357)
    """
    level, seed = inside("level", level, 0.0, 1.0), whole("seed", seed)
    k, count = whole("latent", latent, 1), whole("restarts", restarts, 1)
    matrix, values = numbers_of("a", a).astype(float), numbers_of("b", b).astype(float)
    if matrix.ndim != 2:
        raise ShapeError("a", found=f"shape {matrix.shape}", rule="shape (m, n), one row for each measurement")
    m = len(matrix)
    if values.shape != (m,):
        raise ShapeError("b", found=f"shape {values.shape}", rule=f"shape ({m},), one value for each row of a")
    if not np.abs(matrix).max() > 0:
        raise DataError("a", found="only zeros", rule="measurements of the signal")
    size = float(np.abs(values).max()) or 1.0
    if not 1e-100 <= size <= 1e100 or not 1e-100 <= np.abs(matrix).max() <= 1e100:
        raise DataError("a and b", found=f"numbers as large as {size:.3g} in b", rule="sizes between 1e-100 and 1e100",
                        remedy="change the unit")  # fmt: skip
    with jax.enable_x64(True):
        return _recovered(generator, matrix, values, k, count, level, seed, size)


def _recovered(
    generator: Any, a: np.ndarray, b: np.ndarray, k: int, restarts: int, level: float, seed: int, size: float
) -> Recovery:
    _checked(generator, k, a.shape[1])
    measured, target = jnp.asarray(a), jnp.asarray(b)
    loss = jax.jit(jax.value_and_grad(lambda z: jnp.sum(((measured @ generator(z) - target) / size) ** 2)))

    def numbers(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = loss(jnp.asarray(z))
        return float(value), np.asarray(slope, dtype=float)

    slopes_of = jax.jit(lambda z: (generator(z), jax.jacobian(generator)(z)))
    rng = np.random.default_rng(seed)
    ends = []
    for _ in range(restarts):
        # Distant starts may overflow. Then the results of the other starts are used.
        found = optimize.minimize(numbers, rng.normal(size=k), jac=True, method="L-BFGS-B", options=_OPTIONS)
        if np.isfinite(found.fun):
            ends.append(_polished(numbers, lambda z: slopes_of(jnp.asarray(z)), a, b, found))
    if not ends:
        raise DataError(
            "generator", found="signals that are not finite from every starting point", rule="finite signals"
        )
    ends.sort(key=lambda end: end[0])
    residuals = size * np.sqrt([value for value, _ in ends])
    z = ends[0][1]
    signal = np.asarray(generator(jnp.asarray(z)), dtype=float)
    slopes = np.asarray(jax.jacobian(generator)(jnp.asarray(z)), dtype=float)
    return _predicted(a, b, signal, z, slopes, residuals, restarts, level)


def _polished(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]], linear: Callable[[np.ndarray], tuple[Any, Any]],
    a: np.ndarray, b: np.ndarray, end: Any,
) -> tuple[float, np.ndarray]:  # fmt: skip
    """Take Gauss-Newton steps while the loss falls. These steps do not depend on the units of a and b."""
    value, z = float(end.fun), np.asarray(end.x)
    for _ in range(_POLISH):
        signal, slopes = (np.asarray(own, dtype=float) for own in linear(z))
        if not np.isfinite(slopes).all():
            break
        nearer = z - np.linalg.lstsq(a @ slopes, a @ signal - b)[0]
        own = loss(nearer)[0]
        if not own < value * (1 - 1e-9):
            break
        value, z = own, nearer
    return value, z


_POLISH = 20
_OPTIONS = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-12}


def _predicted(
    a: np.ndarray, b: np.ndarray, signal: np.ndarray, z: np.ndarray, slopes: np.ndarray, residuals: np.ndarray,
    restarts: int, level: float,
) -> Recovery:  # fmt: skip
    """Predict the error with the linearised generator. The range of the linearised generator has the orthonormal basis
    Q, and noise is multiplied by Q (AQ)^+.
    """
    m, n = a.shape
    k = len(z)
    u, s, _ = np.linalg.svd(slopes, full_matrices=False)
    basis = u[:, s > 1e-10 * max(float(s[0]), 1e-300)]
    rank = basis.shape[1]
    singular = np.linalg.svd(a @ basis, compute_uv=False) if rank else np.zeros(0)
    left = _removable(a @ slopes, a @ signal - b, z, float(np.linalg.norm(b)))
    sure = rank == k and m >= k and float(singular[-1]) > 1e-8 * float(singular[0])
    back = basis @ np.linalg.pinv(a @ basis) if rank else np.zeros((n, m))
    outside = back @ (a - (a @ basis) @ basis.T)
    factor = 1 + float(np.sum(outside**2)) / max(n - rank, 1) if sure else np.inf
    free = m - k
    residual, length = float(residuals[0]), float(np.linalg.norm(signal))
    noise = residual / np.sqrt(free) if free > 0 else np.inf
    spread = float(np.linalg.norm(back))
    error, limits = (noise * spread if sure and free > 0 else np.inf), (0.0, np.inf)
    if sure and free > 0:
        # The squared error divided by its estimated mean has about the F distribution of two chi-square variables.
        weights = np.linalg.svd(back, compute_uv=False) ** 2
        degrees = float(weights.sum() ** 2 / np.sum(weights**2))
        tails = stats.f.ppf([(1 - level) / 2, (1 + level) / 2], degrees, free)
        limits = (float(error * np.sqrt(tails[0])), float(error * np.sqrt(tails[1])))
    agreeing = float(np.sum(residuals <= _SAME * residual + 1e-6 * float(residuals.max()))) / restarts
    return Recovery(
        signal, z, residual, float(error), limits, float(factor), 1 + k / (m - k - 1) if m > k + 1 else np.inf,
        float(noise), _times(noise, np.linalg.norm(back, axis=1)), agreeing, residuals, m, k, level,
        (
            Condition("the measurements determine the latent variables near the solution (smallest singular value "
                      "divided by the largest)", float(singular[-1] / max(singular[0], 1e-300)) if rank else 0.0, sure,
                      "otherwise other signals have the same measurements"),
            Condition("the search ended in a minimum (share of the residual that a linear step would remove)",
                      left, left < 0.01, "otherwise the residual is too large; change the unit, or pass more restarts"),
            Condition("several restarts end with the same residual (share)", agreeing,
                      agreeing * restarts >= 2 or (None if restarts == 1 else False),
                      "otherwise a better solution may exist"),
            Condition("the expected error is below the length of the signal (share)", error / (length or 1.0),
                      bool(error < length or error == 0) if np.isfinite(error) else None,
                      "otherwise the signal 0 is as good as this signal"),
            Condition("the residual is noise with equal variance in all measurements"),
            Condition("more measurements than latent variables", float(free), free > 0,
                      "otherwise the noise cannot be estimated"),
        ),
    )  # fmt: skip


def _times(noise: float, lengths: np.ndarray) -> np.ndarray:
    """Return the standard deviation that the noise causes in each entry. For entries on which the noise has no effect,
    return 0, even if the noise is infinite.
    """
    return np.where(lengths > 0, noise * np.where(lengths > 0, lengths, 1.0), 0.0)


def _removable(slopes: np.ndarray, gap: np.ndarray, z: np.ndarray, size: float) -> float:
    """Return the share of the residual that a Gauss-Newton step removes for the linearised generator. If a step is long
    compared with z, the step is shortened.
    """
    step = np.linalg.lstsq(slopes, gap)[0]
    shrunk = min(1.0, 10 * (1 + float(np.linalg.norm(z))) / max(float(np.linalg.norm(step)), 1e-300))
    return shrunk * float(np.linalg.norm(slopes @ step)) / (max(float(np.linalg.norm(gap)), 1e-6 * size) or 1.0)


def _checked(generator: Any, k: int, n: int) -> None:
    if not callable(generator) or isinstance(generator, type):
        raise SettingError("generator", found=f"a {type(generator).__name__}", rule="a function of latent variables")
    try:
        shape = jax.eval_shape(generator, jax.ShapeDtypeStruct((k,), jnp.float64))
        jax.eval_shape(jax.jacobian(generator), jax.ShapeDtypeStruct((k,), jnp.float64))
    except Exception as error:  # any error of a user's function
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
        rule = f"a function of {k} latent variables that JAX can differentiate"
        raise SettingError("generator", found=found, rule=rule, remedy="write it with jax.numpy") from error
    if getattr(shape, "shape", None) != (n,):
        found = f"shape {getattr(shape, 'shape', None)}"
        raise ShapeError("values of generator", found=found, rule=f"shape ({n},), one for each column of a")
