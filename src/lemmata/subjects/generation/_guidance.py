"""The distributions from which a diffusion model with classifier-free guidance samples."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from lemmata.answers import Condition, whole
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._mixtures import Mixture

_CLAIMS = (
    "generation.guidance.guided_spread",
    "generation.guidance.guided_mean",
    "generation.guidance.guided_noise_approaches_tilted",
)
_NODES, _START = 2000, 8.0
_LAWS = ("conditional", "flow", "noise", "tilted")
_WORDS = {"conditional": "conditional distribution", "flow": "probability flow", "noise": "reverse diffusion",
          "tilted": "tilted distribution"}  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Guidance:
    """The distributions from which samplers with guidance of one weight sample, and the tilted distribution.

    The tilted distribution is often named as the distribution of the samples.

    Args:
        w: the weight. The guided score is (1 + w) times the conditional score minus w times the unconditional score.
        means: the mean of each distribution, by name. "conditional" is the conditional distribution p_c, "flow" the
            end of the probability flow, and "noise" the end of the reverse diffusion. "tilted" is the density
            proportional to p_c^(1+w) p_u^(-w), where p_u is the unconditional distribution. If this density is not
            integrable, the numbers of "tilted" are NaN.
        deviations: the square root of the trace of each distribution's covariance.
        covariances: the covariance of each distribution.
        shares: for each distribution, the posterior probability of each component of the conditional mixture, averaged
            over samples of the distribution.
        closed: whether the numbers come from formulas for normal distributions. Otherwise the numbers are simulated.
        errors: the standard error of each of the `deviations` that is simulated, or 0 for formulas.
        draws: the number of simulated paths; 0 for formulas.
        samples: the samples of the flow, the diffusion and the conditional distribution, by name; empty for formulas.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    w: float
    means: dict[str, Float[np.ndarray, " d"]]
    deviations: dict[str, float]
    covariances: dict[str, Float[np.ndarray, "d d"]]
    shares: dict[str, Float[np.ndarray, " k"]]
    closed: bool
    errors: dict[str, float]
    draws: int
    samples: dict[str, Float[np.ndarray, "n d"]]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        several = len(next(iter(self.shares.values()))) > 1
        way = "by formula" if self.closed else f"by {self.draws} simulated paths"
        lines = [f"guidance with weight {self.w:g}, {way}", f"{'':<26}{'deviation':>10}{'mean moves':>12}"
                 + ("  share of the most frequent component" if several else "")]  # fmt: skip
        for name in _LAWS:
            moved = float(np.linalg.norm(self.means[name] - self.means["conditional"]))
            line = f"{_WORDS[name]:<26}{self.deviations[name]:>10.4g}{moved:>12.4g}"
            lines.append(line + (f"  {self.shares[name].max():.3g}" if several else ""))
        if np.isnan(self.deviations["tilted"]):
            lines.append("the tilted density has an infinite integral: no such distribution exists")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the density of each distribution's first coordinate, or a histogram, as an Altair chart."""
        import altair as alt

        wide = max(np.sqrt(cov[0, 0]) for cov in self.covariances.values() if np.isfinite(cov[0, 0]))
        centres = [mean[0] for mean in self.means.values() if np.isfinite(mean[0])]
        places = np.linspace(min(centres) - 3.5 * wide, max(centres) + 3.5 * wide, 120)
        rows = []
        for name in _LAWS:
            if name in self.samples:
                heights, edges = np.histogram(self.samples[name][:, 0], 60, density=True)
                curve = zip(((edges[1:] + edges[:-1]) / 2).tolist(), heights.tolist(), strict=True)
            elif np.isfinite(self.deviations[name]) and self.closed:
                spread = np.sqrt(self.covariances[name][0, 0])
                own = np.exp(-0.5 * ((places - self.means[name][0]) / spread) ** 2) / (spread * np.sqrt(2 * np.pi))
                curve = zip(places.tolist(), own.tolist(), strict=True)
            else:
                continue
            rows += [{"x": x, "density": height, "distribution": _WORDS[name]} for x, height in curve]
        chart = alt.Chart(alt.Data(values=rows)).mark_line()
        return chart.encode(x="x:Q", y="density:Q", color=alt.Color("distribution:N", title=None)).properties(
            width=360, height=220
        )


def guided(
    conditional: Any, unconditional: Any, w: Any, *, draws: int | float = 4000, steps: int | float = 200, seed: int = 0
) -> Guidance:
    """Compute the distributions of samples with classifier-free guidance, for distributions with known scores.

    Guidance replaces the conditional score by (1 + w) times the conditional score minus w times the unconditional
    score, at each level of noise. Let p_c be the conditional and p_u the unconditional distribution. In general, the
    guided score is not the score of a noisy version of the tilted density p_c^(1+w) p_u^(-w). For normal distributions
    with standard deviations s_c (conditional) and s_0 (unconditional), the probability flow ends with the standard
    deviation s_c^(1+w) s_0^(-w). The reverse diffusion ends with a third distribution.

    For two normal distributions with commuting covariances, the results come from formulas. Other mixtures are
    simulated.

    Args:
        conditional: a `Mixture`, the distribution of the class.
        unconditional: a `Mixture`, the distribution of all classes together.
        w: the weight, from 0 to 1000. With 0, the samples have the conditional distribution.
        draws: the number of simulated paths.
        steps: the number of steps of each path.
        seed: the random seed of the simulation.

    Raises:
        SettingError: if a setting is invalid.
        ShapeError: if the mixtures have different dimensions.
        DataError: if paths diverge.

    Example:
        >>> print(guided(Mixture([1.0], 0.25), Mixture([0.0], 1.0), 1))
        guidance with weight 1, by formula
                                   deviation  mean moves
        conditional distribution         0.5           0
        probability flow                0.25      0.3802
        reverse diffusion             0.3307        0.25
        tilted distribution            0.378      0.1429
    """
    for name, own in (("conditional", conditional), ("unconditional", unconditional)):
        if not isinstance(own, Mixture):
            raise SettingError(name, found=f"a {type(own).__name__}", rule="a Mixture(means, covariances, weights)")
    weight = _weight(w)
    count, number, seed = whole("draws", draws, 100), whole("steps", steps, 10), whole("seed", seed)
    if conditional.means.shape[1] != unconditional.means.shape[1]:
        raise ShapeError(
            "unconditional",
            found=f"{unconditional.means.shape[1]} dimensions",
            rule=f"{conditional.means.shape[1]} dimensions, as many as the conditional mixture has",
        )
    if len(conditional.means) == len(unconditional.means) == 1:
        basis = _common(conditional.covariances[0], unconditional.covariances[0])
        if basis is not None:
            return _by_formula(conditional, unconditional, weight, basis)
    return _simulated(conditional, unconditional, weight, count, number, seed)


def _weight(w: Any) -> float:
    if isinstance(w, bool | str | bytes) or np.ndim(w) != 0 or not isinstance(w, int | float | np.number):
        raise SettingError("w", found=" ".join(repr(w).split())[:60], rule="a number of at least 0")
    if not 0 <= float(w) <= 1000:
        raise SettingError("w", found=f"{float(w):g}", rule="a number from 0 to 1000")
    return float(w)


def _common(first: np.ndarray, second: np.ndarray) -> np.ndarray | None:
    """Return common eigenvectors of both matrices, or None if the matrices do not commute."""
    scale = np.abs(first).max() * np.abs(second).max()
    if np.abs(first @ second - second @ first).max() > 1e-10 * scale * len(first):
        return None
    # A generic combination of two commuting matrices separates every pair of different eigenvalues.
    vectors = np.linalg.eigh(first / np.abs(first).max() + 0.6180339887 * second / np.abs(second).max())[1]
    for own in (first, second):
        turned = vectors.T @ own @ vectors
        if np.abs(turned - np.diag(np.diag(turned))).max() > 1e-8 * np.abs(own).max():
            return None
    return vectors


def _by_formula(conditional: Mixture, unconditional: Mixture, w: float, basis: np.ndarray) -> Guidance:
    """Compute the guided distributions along common eigenvectors.

    Let a = e^-t at the noise time t. A variance s² becomes V = a² s² + 1 - a², which is V_c for the conditional and V_0
    for the unconditional distribution. Let H = ((1 + w) log V_c - w log V_0)/2. For means of 0, a path of the
    probability flow is proportional to e^H. A path of the reverse diffusion without its noise is proportional to e^(2H)
    a^(-1).
    """
    spread = lambda own: np.diag(basis.T @ own.covariances[0] @ basis)
    s_c, s_0 = spread(conditional), spread(unconditional)
    m_c, m_0 = conditional.means[0] @ basis, unconditional.means[0] @ basis
    # Nodes in u with a = 1 - (1 - u)^4, because for variances far below 1 the integrands change fast near a = 1.
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    u = (nodes[:, None] + 1) / 2
    rest = (1 - u) ** 4
    a, da = 1 - rest, weights[:, None] / 2 * 4 * (1 - u) ** 3
    noise = rest * (1 + a)  # 1 - a²
    v_c, v_0 = a**2 * s_c + noise, a**2 * s_0 + noise
    h = 0.5 * ((1 + w) * np.log(v_c / s_c) - w * np.log(v_0 / s_0))  # H(a) - H(1)
    drift = (1 + w) * m_c / v_c - w * m_0 / v_0
    integral = lambda values: (da * values).sum(axis=0)
    precision = (1 + w) / s_c - w / s_0
    exists = bool((precision > 0).all())
    with np.errstate(divide="ignore", invalid="ignore"):
        tilted = np.where(exists, 1 / precision, np.nan)
        moved = np.where(exists, ((1 + w) * m_c / s_c - w * m_0 / s_0) / precision, np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        means = {"conditional": m_c, "flow": integral(np.exp(-h) * drift),
                 "noise": 2 * integral(np.exp(-2 * h) * a * drift), "tilted": moved}  # fmt: skip
        variances = {"conditional": s_c, "flow": np.exp((1 + w) * np.log(s_c) - w * np.log(s_0)),
                     "noise": 2 * integral(np.exp(-4 * h) * a), "tilted": tilted}  # fmt: skip
    if not all(np.isfinite(own[name]).all() for own in (means, variances) for name in ("flow", "noise")):
        raise DataError("w", found="guided distributions with moments above 1e308", rule="finite moments",
                        remedy="pass a smaller weight")  # fmt: skip
    check = float(np.abs(2 * integral(a * np.exp(-2 * np.log(v_c / s_c))) / s_c - 1).max())
    return Guidance(
        w, {name: basis @ own for name, own in means.items()},
        {name: float(np.sqrt(own.sum())) for name, own in variances.items()},
        {name: (basis * own) @ basis.T for name, own in variances.items()},
        {name: np.ones(1) for name in _LAWS}, True, dict.fromkeys(_LAWS, 0.0), 0, {},
        (
            Condition("the sampler starts from pure noise and solves its equation exactly"),
            Condition("the integrals are exact (relative error at weight 0)", check, check < 1e-6,
                      "variances far from 1 need more nodes"),
        ),
    )  # fmt: skip


def _simulated(conditional: Mixture, unconditional: Mixture, w: float, count: int, steps: int, seed: int) -> Guidance:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(count, conditional.means.shape[1]))
    times = _times(conditional, unconditional, steps)
    samples = {"flow": _flow(conditional, unconditional, w, first, times)}
    coarse = _flow(conditional, unconditional, w, first, times[::2] if steps % 2 == 0 else times)
    samples["noise"] = _diffusion(conditional, unconditional, w, first, times, rng)
    for name, own in samples.items():
        if not np.isfinite(own).all():
            raise DataError(f"paths of the {_WORDS[name]}", found="values that are not finite", rule="finite paths",
                            remedy="pass more steps or a smaller weight")  # fmt: skip
    plain = conditional.draw(count, rng)
    logs = w * (conditional.noisy(plain, 1.0)[0] - unconditional.noisy(plain, 1.0)[0])
    weights = special.softmax(logs)
    effective = float(1 / np.sum(weights**2))
    stiff = (1 + w) * float(np.log(np.expm1(2 * times[0]) / np.expm1(2 * times[1])))
    exists = _integrable(conditional, unconditional, w)
    moments = {"conditional": (conditional.mean, conditional.covariance)}
    moments |= {name: (own.mean(axis=0), np.atleast_2d(np.cov(own.T))) for name, own in samples.items()}
    centre = weights @ plain
    tilted = (plain - centre).T @ ((plain - centre) * weights[:, None])
    moments["tilted"] = (centre, tilted) if exists is not False else (centre * np.nan, tilted * np.nan)
    deviations = {name: float(np.sqrt(np.trace(own))) for name, (_, own) in moments.items()}
    shares = {"conditional": conditional.weights, "tilted": _weighted_shares(conditional, plain, weights)}
    shares |= {name: conditional.components(own) for name, own in samples.items()}
    errors = {name: _error(own) for name, own in samples.items()} | {"conditional": 0.0}
    errors["tilted"] = float(deviations["tilted"] / np.sqrt(2 * effective))
    solver = float(np.sqrt(np.mean(np.sum((samples["flow"] - coarse) ** 2, axis=1)))) / max(deviations["flow"], 1e-300)
    return Guidance(
        w, {name: own for name, (own, _) in moments.items()}, deviations,
        {name: own for name, (_, own) in moments.items()}, shares, False, errors, count,
        samples | {"conditional": plain},
        (
            Condition("doubling the steps hardly changes the paths (root mean square, in deviations)", solver / 3,
                      solver / 3 < 0.02, "pass more steps"),
            Condition("steps are short for this weight (relative change of the noise, times 1 + w)", stiff, stiff < 1.0,
                      "pass more steps"),
            Condition("effective number of draws for the tilted distribution", effective, effective >= 100,
                      "the numbers of the tilted density come mostly from a few draws; pass more draws"),
            Condition("the tilted density has a finite integral", None, exists),
        ),
    )  # fmt: skip


def _integrable(conditional: Mixture, unconditional: Mixture, w: float) -> bool | None:
    """Return whether the tilted density is integrable. For mixtures, return None if the answer is not certain."""
    if w == 0:
        return True
    if len(conditional.means) == len(unconditional.means) == 1:
        inverse = [np.linalg.inv(own.covariances[0]) for own in (conditional, unconditional)]
        return bool(np.linalg.eigvalsh((1 + w) * inverse[0] - w * inverse[1])[0] > 0)
    # The tilted density is integrable if each conditional covariance is at most some unconditional covariance.
    narrow = all(
        any((np.linalg.eigvalsh(wide - own) >= -1e-9).all() for wide in unconditional.covariances)
        for own in conditional.covariances
    )
    return True if narrow else None


def _times(conditional: Mixture, unconditional: Mixture, steps: int) -> np.ndarray:
    """Return decreasing times that end with 0. For the other times, the logarithms of the noise variances e^(2t) - 1
    are equally spaced. The smallest of these variances is 1e-4 times the smallest variance of the components.
    """
    both = conditional, unconditional
    least = min(own.values.min() for own in both)
    most = max(1.0, *(float(np.abs(own.means).max()) for own in both), *(own.values.max() ** 0.5 for own in both))
    first = np.expm1(2 * (_START + np.log(most)))
    return np.concatenate([0.5 * np.log1p(np.geomspace(first, 1e-4 * least, steps)), [0.0]])


def _score(conditional: Mixture, unconditional: Mixture, w: float, x: np.ndarray, t: float) -> np.ndarray:
    a = float(np.exp(-t))
    own = conditional.noisy(x, a)[1]
    return own if w == 0 else (1 + w) * own - w * unconditional.noisy(x, a)[1]


def _flow(conditional: Mixture, unconditional: Mixture, w: float, x: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Integrate the probability flow of y = e^t x over sigma = (e^2t - 1)^(1/2) by Heun's method."""
    score = lambda x, t: _score(conditional, unconditional, w, x, t)
    sigmas = np.sqrt(np.expm1(2 * times))
    y = x * np.exp(times[0])
    slope = lambda y, t, sigma: -sigma * np.exp(-t) * score(y * np.exp(-t), t)
    for (t, sigma), (later, small) in zip(
        zip(times[:-1], sigmas[:-1], strict=True), zip(times[1:], sigmas[1:], strict=True), strict=True
    ):
        first = slope(y, t, sigma)
        second = slope(y + (small - sigma) * first, later, small)
        y = y + (small - sigma) * (first + second) / 2
    return y


def _diffusion(
    conditional: Mixture, unconditional: Mixture, w: float, x: np.ndarray, times: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Integrate the reverse diffusion of y = e^t x over sigma² = e^2t - 1 by Heun's method, which has order 2 for
    additive noise.
    """
    sigmas = np.sqrt(np.expm1(2 * times))
    y = x * np.exp(times[0])
    score = lambda y, t: np.exp(-t) * _score(conditional, unconditional, w, y * np.exp(-t), t)
    for t, later, length in zip(times[:-1], times[1:], sigmas[:-1] ** 2 - sigmas[1:] ** 2, strict=True):
        noise = rng.normal(size=y.shape) * np.sqrt(length)
        first = score(y, t)
        y = y + length / 2 * (first + score(y + length * first + noise, later)) + noise
    return y


def _weighted_shares(mixture: Mixture, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    rows = np.random.default_rng(0).choice(len(x), len(x), p=weights)
    return mixture.components(x[rows])


def _error(x: np.ndarray) -> float:
    """Return the standard error of the square root of the trace of the covariance of samples x."""
    squares = np.sum((x - x.mean(axis=0)) ** 2, axis=1)
    return float(squares.std(ddof=1) / np.sqrt(len(x)) / (2 * np.sqrt(squares.mean())))
