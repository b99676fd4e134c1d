"""How the prior of the forecasts is learned from curves, by gradient descent on their likelihood.

An example is the beginning of a curve with some of the later sizes as targets. Beginnings are the anchors up to 1/2,
1/4 and 1/8 of the largest with all splits, and random ones: cut anywhere, with 3 to 25 of the splits, over a factor of
8 to everything before the cut, every size or every second or third or a random half. Then synthetic curves: one power
law or the sum of two, with or without a floor, bent to a baseline at small sizes or not, with known noise.
"""

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri

from lemmata.subjects.forecasts._curve_prior import continuations, look, outlook
from lemmata.subjects.forecasts._curve_smoothing import smooth
from lemmata.subjects.forecasts._forecast import Prior

LONGEST, TARGETS, REACH = 32, 13, 300.0
FACTORS = (2, 4, 8)
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
WIDTHS, EPOCHS, RATE, DECAY, BATCH, FOLDS, MEMBERS = (32,), 25, 3e-3, 5e-3, 512, 5, 5
EACH, SYNTHETIC = 6, 0.12
KNOTS = np.log([1.0, 2.0, 4.0, 8.0])


@dataclasses.dataclass(frozen=True)
class Example:
    """The beginning of a curve, and the truth at later sizes; factor is 0 for random beginnings."""

    table: str | int
    loss: str
    factor: int
    sizes: np.ndarray
    measured: np.ndarray
    se: np.ndarray
    baseline: float
    targets: np.ndarray
    truths: np.ndarray


def standard(curve, factor: int) -> Example | None:
    """All anchors up to 1 / factor of the largest, with all splits; None where there are fewer than 4."""
    kept = np.flatnonzero(curve.sizes <= curve.sizes[-1] / factor * 1.0001)
    if len(kept) < 4:
        return None
    sizes, measured, se = curve.measured(kept, np.arange(curve.losses.shape[1]))
    if len(sizes) < 4:
        return None
    later = np.flatnonzero(curve.sizes > sizes[-1] * 1.05)[-TARGETS:]
    parts = (sizes, measured, se, curve.baseline, curve.sizes[later], curve.truth[later])
    return Example(curve.table, curve.loss, factor, *parts)


def beginning(curve, random: np.random.Generator) -> Example | None:
    """A random beginning of the curve, as a study might have measured it."""
    last = int(random.integers(2, len(curve.sizes) - 1))
    splits = random.permutation(curve.losses.shape[1])[: random.choice([3, 5, 8, 25])]
    kept = np.flatnonzero(curve.sizes[: last + 1] >= curve.sizes[last] / random.choice([8, 25, 60, 1e9]) * 0.99)
    thinned = kept[::-1][:: random.choice([1, 1, 2, 3])][::-1]
    if random.random() < 0.25 and len(thinned) > 4:
        some = random.choice(thinned[:-1], max(2, int(0.6 * len(thinned)) - 1), replace=False)
        thinned = np.sort(np.append(some, thinned[-1]))
    kept = thinned if len(thinned) >= 3 else kept
    sizes, measured, se = curve.measured(kept, splits)
    if len(sizes) < 3:
        return None
    later = np.flatnonzero((curve.sizes > sizes[-1] * 1.05) & (curve.sizes < sizes[-1] * REACH))
    if len(later) > TARGETS - 1:
        later = np.sort(random.choice(later, TARGETS - 1, replace=False))
    if len(splits) < 0.5 * curve.losses.shape[1]:  # then the mean over all says more about the last size too
        later = np.append(np.flatnonzero(curve.sizes == sizes[-1]), later)
    if not len(later):
        return None
    se = se * np.nan if random.random() < 0.1 else se
    baseline = math.nan if random.random() < 0.3 else curve.baseline
    return Example(curve.table, curve.loss, 0, sizes, measured, se, baseline, curve.sizes[later], curve.truth[later])


def synthetic(random: np.random.Generator) -> Example:
    """A curve of known law with known noise."""
    first = math.exp(random.uniform(math.log(8), math.log(300)))
    count, ratio = int(random.integers(3, 13)), random.choice([2**0.5, 2.0, 1.6])
    sizes = first * ratio ** np.arange(count)
    exponents = random.uniform(0.1, 2.0) if random.random() < 0.3 else random.uniform(0.1, 1.0)
    second = random.uniform(0.0, 1.0) * exponents
    share = random.uniform(0.0, 1.0) if random.random() < 0.4 else 0.0
    floor = random.uniform(0.0, 0.9) if random.random() < 0.6 else 0.0
    bend = math.exp(random.uniform(math.log(0.01), math.log(3))) * sizes[-1] if random.random() < 0.3 else 0.0
    scale = sizes[-1] + bend

    def law(n):
        t = (n + bend) / scale
        return floor + (1 - floor) * ((1 - share) * t**-exponents + share * t**-second)

    targets = sizes[-1] * np.concatenate([[1.0], np.exp(np.sort(random.uniform(0.05, 4.5, TARGETS - 1)))])
    noise = 0.0 if random.random() < 0.2 else math.exp(random.uniform(math.log(2e-3), math.log(0.1)))
    se = noise * law(sizes) * np.exp(random.normal(0, 0.25, count))
    measured = law(sizes) * np.maximum(1 + noise * random.normal(size=count), 0.05)
    baseline = math.nan if random.random() < 0.5 else law(np.array(1.0)) * math.exp(random.uniform(0, 0.5))
    return Example("synthetic", "synthetic", 0, sizes, measured, se, float(baseline), targets, law(targets))


def examples(curves, each: int, seed: int = 0) -> list[Example]:
    """The standard beginnings of every curve, and `each` random ones."""
    random = np.random.default_rng(seed)
    found = []
    for curve in curves:
        found += [standard(curve, factor) for factor in FACTORS]
        found += [beginning(curve, random) for _ in range(each)]
    return [example for example in found if example is not None]


def padded(found: list[Example]) -> dict[str, np.ndarray]:
    """Arrays of examples: short curves repeat their first size with infinite se, short targets have weight 0."""
    count = len(found)
    arrays = {name: np.zeros((count, LONGEST)) for name in ("sizes", "measured", "se")}
    later = {name: np.zeros((count, TARGETS)) for name in ("targets", "truths", "counted")}
    for row, example in enumerate(found):
        parts = {name: getattr(example, name)[-LONGEST:] for name in arrays}
        pad = LONGEST - len(parts["sizes"])
        for name, part in parts.items():
            arrays[name][row] = np.concatenate([np.full(pad, np.inf if name == "se" else part[0]), part])
        pad = TARGETS - len(example.targets)
        for name, part in (("targets", example.targets), ("truths", example.truths), ("counted", None)):
            part = np.ones(TARGETS - pad) if part is None else part
            later[name][row] = np.concatenate([np.full(pad, 0.0 if name == "counted" else part[-1]), part])
    named = {name: np.array([getattr(example, name) for example in found]) for name in ("loss", "factor", "baseline")}
    table = np.array([str(example.table) for example in found])
    return {**arrays, **later, **named, "table": table}


def embed(arrays: dict[str, np.ndarray], chunk: int = 1000) -> dict[str, np.ndarray]:
    """The arrays with features, continuations and the targets' change of ln(error)."""
    found: dict[str, list] = {}
    for start in range(0, len(arrays["loss"]), chunk):
        part = {name: value[start : start + chunk] for name, value in arrays.items()}
        smoothed = smooth(part["sizes"], part["measured"], part["se"])
        features, ends = look(smoothed, part["baseline"])
        horizons = np.log(part["targets"]) - ends["last"][:, None]
        change = np.log(part["truths"] + smoothed.offset[:, None]) - ends["level"][:, None]
        ways = continuations(smoothed, ends, horizons)
        values = (features, horizons, ways, change, ends["variance"], ends["level"], smoothed.offset)
        names = ("features", "horizons", "ways", "change", "variance", "level", "offset")
        for name, value in zip(names, values, strict=True):
            found.setdefault(name, []).append(value)
    return {**arrays, **{name: np.concatenate(parts) for name, parts in found.items()}}


def weights(arrays: dict[str, np.ndarray]) -> np.ndarray:
    """Horizons of 1.35 to 12 count most; many curves of one table count less; synthetic ones have their share."""
    horizons, counted = arrays["horizons"], arrays["counted"]
    _, at = np.unique(arrays["table"], return_inverse=True)
    often = np.bincount(at)[at]
    each = counted * np.where((horizons > 0.3) & (horizons < 2.5), 1.0, 0.3)
    each = each / np.sqrt(np.maximum(counted.sum(1), 1) * often)[:, None]
    made = arrays["table"] == "synthetic"
    if made.any():
        each[made] *= SYNTHETIC / (1 - SYNTHETIC) * each[~made].sum() / each[made].sum()
    return each / each.mean()


def _loss(params, fixed, part):
    """Negative log-likelihood, and the pinball loss of five quantiles."""
    median, down, up = outlook({**params, **fixed}, *part[:4], xp=jnp)
    change, counted = part[4:]
    tail = jnp.exp(params["tail"])
    scale = jnp.where(change < median, down, up)
    x = (change - median) / scale
    likelihood = jnp.log(scale) + (jnp.arcsinh(tail * x) / tail) ** 2 / 2 + jnp.log1p((tail * x) ** 2) / 2
    normal = jnp.asarray(ndtri(LEVELS), jnp.float32)
    steps = jnp.where(normal < 0, down[..., None], up[..., None]) * jnp.sinh(tail * normal) / tail
    apart = (change - median)[..., None] - steps
    pinball = jnp.maximum(LEVELS * apart, (LEVELS - 1) * apart).sum(-1)
    return ((likelihood + jnp.minimum(pinball, 3.0)) * counted).sum() / counted.sum()


def _start(key, inputs: int, outputs: int) -> dict:
    sizes = (inputs, *WIDTHS, outputs)
    keys = jax.random.split(key, len(sizes) - 1)
    shapes = list(itertools.pairwise(sizes))
    matrices = [jax.random.normal(key, shape) * shape[0] ** -0.5 for key, shape in zip(keys, shapes, strict=True)]
    matrices[-1] = 0.05 * matrices[-1]
    return {"matrices": matrices, "biases": [jnp.zeros(size) for size in sizes[1:]], "tail": jnp.asarray(-0.5)}


def train(arrays: dict[str, np.ndarray], rows: np.ndarray, seed: int) -> dict:
    """One network, fitted to the given rows by Adam with decaying weights."""
    names = ("features", "ways", "variance", "horizons", "change", "weights")
    data = [jnp.asarray(arrays[name][rows], jnp.float32) for name in names]
    features = arrays["features"][rows]
    fixed = {"centre": jnp.asarray(features.mean(0), jnp.float32)}
    fixed["spread"] = jnp.asarray(features.std(0) + 1e-6, jnp.float32)
    params = _start(jax.random.key(seed), features.shape[1], arrays["ways"].shape[2] + 10)
    steps = EPOCHS * (len(rows) // BATCH)
    tree = jax.tree.map

    def step(state, index):
        params, first, second, count = state
        slope = jax.grad(_loss)(params, fixed, [part[index] for part in data])
        count = count + 1
        first = tree(lambda a, g: 0.9 * a + 0.1 * g, first, slope)
        second = tree(lambda a, g: 0.99 * a + 0.01 * g**2, second, slope)
        rate = RATE * jnp.minimum(count / 200, 1) * 0.5 * (1 + jnp.cos(jnp.pi * count / steps))
        scaled = lambda a, m, v: a - rate * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.99**count)) + 1e-8)
        params = tree(scaled, params, first, second)
        params["matrices"] = [matrix * (1 - rate * DECAY) for matrix in params["matrices"]]
        return (params, first, second, count), None

    epoch = jax.jit(lambda state, order: jax.lax.scan(step, state, order)[0])
    state = (params, tree(jnp.zeros_like, params), tree(jnp.zeros_like, params), jnp.asarray(0.0))
    random = np.random.default_rng(seed)
    for _ in range(EPOCHS):
        order = random.permutation(len(rows))[: len(rows) // BATCH * BATCH].reshape(-1, BATCH)
        state = epoch(state, jnp.asarray(order))
    return tree(lambda part: np.asarray(part, float), {**state[0], **fixed})


def stretches(arrays: dict[str, np.ndarray], members: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Factors of the scales down and up that cover 95 % each, at each of KNOTS, on tables that a fit has not seen.

    Five fits, each without a fifth of the tables. The residuals near a knot, in units of their scale, have their 95 %
    quantile where the model's own should be. Random and standard beginnings count alike; synthetic ones do not count.
    """
    tables = np.unique(arrays["table"])
    fold = np.random.default_rng(1).permutation(len(tables))[np.searchsorted(tables, arrays["table"])] % FOLDS
    fold[arrays["table"] == "synthetic"] = -1
    below, above = (np.full(arrays["change"].shape, np.nan) for _ in range(2))
    for held in range(FOLDS):
        some = np.flatnonzero(fold == held)
        found = [train(arrays, np.flatnonzero(fold != held), seed) for seed in range(members)]
        median, down, up, tail = combined(found, arrays, some)
        wide = np.sinh(tail * ndtri(0.95)) / tail
        below[some] = (median - arrays["change"][some]) / (down * wide)
        above[some] = (arrays["change"][some] - median) / (up * wide)
    counted = np.isfinite(below) & (arrays["counted"] > 0)
    found = []
    for side in (below, above):
        near = [counted & (np.abs(arrays["horizons"] - knot) < 0.3) for knot in KNOTS]
        found.append(np.array([max(1e-3, np.quantile(side[rows], 0.95)) for rows in near]))
    return found[0], found[1]


def combined(members: list[dict], arrays: dict[str, np.ndarray], rows: np.ndarray):
    """Median, scales and tail of several networks together, without stretches."""
    plain = Prior(tuple(members), KNOTS, np.ones(len(KNOTS)), np.ones(len(KNOTS)))
    return plain.spread(*(arrays[name][rows] for name in ("features", "ways", "variance", "horizons")))


def fit(curves, seed: int = 0) -> dict:
    """The prior of the given curves, as its file holds it."""
    random = np.random.default_rng(seed)
    found = examples(curves, EACH, seed)
    found += [synthetic(random) for _ in range(int(SYNTHETIC * len(found)))]
    arrays = embed(padded(found))
    arrays["weights"] = weights(arrays)
    down, up = stretches(arrays)
    members = [train(arrays, np.arange(len(found)), seed) for seed in range(MEMBERS)]
    rounded = lambda part: [float(f"{x:.4g}") for x in part] if part.ndim == 1 else [rounded(row) for row in part]
    stored = [
        {
            "matrices": [rounded(matrix) for matrix in member["matrices"]],
            "biases": [rounded(bias) for bias in member["biases"]],
            "centre": rounded(member["centre"]),
            "spread": rounded(member["spread"]),
            "tail": float(f"{member['tail']:.4g}"),
        }
        for member in members
    ]
    return {"horizons": KNOTS.tolist(), "down": rounded(down), "up": rounded(up), "members": stored}
