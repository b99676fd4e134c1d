"""Norms of the layers: what their product and the margin imply for new rows and for moved inputs.

From one number per layer and the margins of the rows, the theory bounds the error on new rows and the effect of
attacks. It needs a chain of affine maps and activations of slope at most 1. It does not explain why trained networks
stay far below what the product of their norms allows.
"""

import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Control, Hypothesis, Kind, Source, Status
from lemmata.subjects.bounds import rademacher
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._rectified_networks import RectifiedNetworks

from ._chain import chain_of
from ._fresh_rows import fresh_rows
from ._gauge import AbstractGauge
from ._outputs import held_outputs, held_rows, training_outputs
from .attacks import attacked, first_order_radii, smallest_attacks
from .bounds import DELTA, FORWARD, held_out_limit, most_frequent, of_classes, rows_factor

ABOUT = {"tool": "empirical processes", "architecture": "dense network", "object": "generalisation"}

_GRID = 0.25  # norms and margins are rounded to powers of 2^(1/4)
_MASS = math.pi**2 / 3 - 1  # the sum of 1/(1 + |j|)² over whole numbers j


def chained(problem: Trained) -> list[Hypothesis]:
    """The conditions that the model predicts classes and is a chain of maps whose norms can be computed."""
    found, read = of_classes(problem), chain_of(problem)
    name = "the model is a chain of affine maps and activations of slope at most 1"
    return [*found, Hypothesis(name, float(read.network is not None), ">=", 1.0, read.refused)]


def margins(problem: Trained) -> Float[np.ndarray, " n"]:
    """Return f_y - max_j f_j for each training row of class y, where j is any other class."""
    own = problem.y.astype(bool)
    return training_outputs(problem)[own] - np.where(own, -np.inf, training_outputs(problem)).max(1)


def rounded_up(value: float, step: float = _GRID) -> tuple[float, float]:
    """Round up to a power 2^(j step). Return this power and -log of its weight, which is proportional to 1/(1 + |j|)².

    A margin bound is for norms that are fixed before the rows are drawn. With these logarithms added, it holds for all
    powers at once.
    """
    j = math.ceil(math.log2(max(value, 1e-300)) / step - 1e-9)
    return 2.0 ** (j * step), math.log(_MASS) + 2 * math.log1p(abs(j))


def margin_bound(
    own: Float[np.ndarray, " n"], complexity: Callable[[float, float], float], price: float, rows: float | int
) -> float:
    """Return the margin bound at the best margin gamma, and at most 1.

    At gamma, it is mean ramp(own / gamma) + 2 R + 3 sqrt((ln(2/delta) + the prices of gamma and norms) / (2 rows)),
    where R is the Rademacher complexity of the functions ramp(margin / gamma).

    Args:
        own: margins of the training rows; the ramp is 1 below 0, 0 above 1 and linear between.
        complexity: a function of gamma and the number of rows that returns R, or an upper bound on R.
        price: the cost, in nats, of norms that depend on the rows: minus the log weights of the rounded norms (see
            `rounded_up`).
        rows: the number of rows in the bound.
    """
    found, largest = 1.0, float(np.abs(own).max())
    steps = np.arange(-24, 9) + math.floor(math.log2(max(largest, 1e-300)) / _GRID)
    for j in steps:
        gamma = 2.0 ** (j * _GRID)
        ramp = float(np.clip(1 - own / gamma, 0, 1).mean())
        cost = price + math.log(_MASS) + 2 * math.log1p(abs(j)) + math.log(2 / DELTA)
        found = min(found, ramp + 2 * complexity(gamma, rows) + 3 * math.sqrt(cost / (2 * rows)))
    return found


def spectral_bound(problem: Trained, rows: float | int) -> float:
    """Return the bound from the norms of the maps at a number of rows. Biases count as maps of a constant input 1."""
    network, x = chain_of(problem).network, problem.x.reshape(len(problem.x), -1)
    assert network is not None
    last, price, product, ratios = len(network.weights) - 1, 0.0, 1.0, 0.0
    biased = any(bias.any() for bias in network.biases)
    for position, (weight, bias) in enumerate(zip(network.weights, network.biases, strict=True)):
        own = np.concatenate([weight, bias[:, None]], axis=1) if biased else weight
        whole = np.concatenate([own, np.eye(1, own.shape[1], own.shape[1] - 1)]) if biased and position < last else own
        norm, cost = rounded_up(float(np.linalg.norm(whole, 2)), _GRID / (last + 1))
        # The row that passes on the constant is left out here: it equals its reference, so its distance from the
        # reference is 0.
        group, more = rounded_up(float(np.linalg.norm(own, axis=1).sum()))
        product, ratios, price = product * norm, ratios + (group / norm) ** (2 / 3), price + cost + more
    width = max(max(weight.shape) for weight in network.weights) + int(biased)
    length = math.sqrt(float((x.astype(float) ** 2).sum() / len(x)) + int(biased))
    entropy = length * math.sqrt(math.log(2 * width**2)) * product * ratios**1.5

    def complexity(gamma: float, n: float | int) -> float:
        c = math.sqrt(2 * n) / gamma * entropy  # the root of the covering number's logarithm is c / epsilon
        return 12 * c / n * (1 + math.log(n / (3 * c))) if 3 * c < n else 4.0

    return margin_bound(margins(problem), complexity, price, rows)


class SpectralMarginBound(AbstractGauge):
    """Let a network be a chain of L affine maps A_i with activations of slope at most 1 that are 0 at 0. Let it be
    trained on n independent rows x_i. Let |X|² = sum_i |x_i|², and let W be the largest width. Let |A| be the largest
    singular value of A, and let |A|_* be the sum of the lengths of the rows of A. The margin of a row is f_y, the
    output of its class, minus the largest other output. The function ramp is 1 up to 0, falls linearly to 0 at 1, and
    stays 0. For gamma > 0, let

        C = sqrt(2) / gamma  |X| sqrt(ln 2W²)  prod_i |A_i|  ( sum_i (|A_i|_* / |A_i|)^(2/3) )^(3/2).

    Let delta = 1/20, and let c be a term that allows for gamma and norms that depend on the rows. With probability at
    least 19/20, for every gamma, the error on new rows is at most

        mean ramp(margin / gamma) + 24 C / n (1 + ln(n / 3C)) + 3 sqrt((ln(2/delta) + c) / 2n).

    To compute c, round gamma and all norms to powers of 2^(1/4) or finer, and give the j-th power the weight 1/(1 +
    |j|)². The constants follow from two results: the bound on covering numbers of Theorem 3.3 of Bartlett, Foster and
    Telgarsky (2017), and Dudley's entropy integral with the lower end 3C/sqrt(n). Biases count as maps of an input that
    is always 1. For the numbers of rows in the test, the bound is 1. A bound below 1 needs a hundred million rows, or
    many more.
    """

    title = "A margin bound on the error on new rows, from the norms of the layers"
    source = Source(
        "bartlett2017spectral", "Theorem 3.3", note="with explicit constants of our own where the main bound has none"
    )
    stated = Kind.OWN
    reading = "the main bound leaves its constants out; this claim takes them from Dudley's integral"
    population = RectifiedNetworks(steps=60, distance=6.0, noise=0.0)
    relation = AtMost(delta=0.1)
    control = Control(
        "half of this bound",
        lambda bound, problem: bound / 2,
        loose="the bound is 1 in every trial, and no trained model has an error above a half",
    )
    controls = "the error on new rows, at once for all networks with these norms and margins"
    unexplained = "why the error of trained networks is smaller by orders of magnitude"
    traced = False
    expected = Status.VACUOUS

    def passes(self, problem: Trained) -> float:
        return FORWARD

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return chained(problem)

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(spectral_bound(problem, len(problem.x)))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the model on held-out rows that are not duplicates."""
        return held_error(problem)

    def trivial(self, problem: Trained) -> Array:
        """The error of always saying the most frequent class."""
        return most_frequent(problem)

    def rows_factor(self, problem: Trained) -> float:
        """How many times as many training rows the bound needs to beat guessing, at unchanged norms and margins."""
        at = lambda rows: spectral_bound(problem, rows)
        return rows_factor(at, len(problem.x), float(most_frequent(problem)))

    def alternative(self, problem: Trained) -> float:
        """The upper confidence limit of the error, computed from the held-out rows alone."""
        return held_out_limit(problem)


def held_error(problem: Trained) -> Array:
    """The share of wrong held-out rows, without duplicates of training rows."""
    wrong = problem.task.errors(held_outputs(problem)[fresh_rows(problem)], held_rows(problem)[1][fresh_rows(problem)])
    return jnp.asarray(wrong.mean())


def linear_bound(problem: Trained, rows: float | int) -> float:
    """Return the bound from the Rademacher complexity of linear models at a number of rows."""
    network, x = chain_of(problem).network, problem.x.reshape(len(problem.x), -1).astype(float)
    assert network is not None
    own = np.concatenate([network.weights[0], network.biases[0][:, None]], axis=1)
    centred, classes = own - own.mean(0), len(own)  # a term that is the same for all classes decides nothing
    radius, price = rounded_up(float(np.linalg.norm(centred)))
    ball = rademacher("l2", np.concatenate([x, np.ones((len(x), 1))], axis=1), radius, draws=1).upper
    assert ball is not None
    # With two classes, there is one difference of outputs, whose weights are sqrt(2) times as long as all centred
    # weights. This gives the factor sqrt(2). With more classes, a contraction inequality for vectors gives the other
    # factor.
    factor = math.sqrt(2) if classes == 2 else 2 * math.sqrt(classes - 1)
    complexity = lambda gamma, n: factor / gamma * ball * math.sqrt(len(x) / n)
    return margin_bound(margins(problem), complexity, price, rows)


class LinearRademacherBound(AbstractGauge):
    """Let a linear model W x + b of k classes be trained on n independent rows x_i. Subtract from (W, b) its mean over
    classes, and let B be the root of the sum of squares of the result. The margin of a row is the output of its class
    minus the largest other output. The function ramp is 1 up to 0, falls linearly to 0 at 1, and stays 0. For gamma >
    0, the functions ramp(margin / gamma) have a Rademacher complexity of at most

        R = 2 sqrt(k - 1) B sqrt(sum_i (|x_i|² + 1)) / (gamma n)

    (with sqrt(2) in place of 2 if k = 2). Let delta = 1/20, and let c be a term that allows for gamma and B that depend
    on the rows. With probability at least 19/20, for every gamma, the error on new rows is at most

        mean ramp(margin / gamma) + 2 R + 3 sqrt((ln(2/delta) + c) / 2n).

    To compute c, gamma and B are rounded to powers of 2^(1/4), where the j-th power has the weight 1/(1 + |j|)². In at
    least nine of ten models, the bound is above the error on held-out rows.
    """

    title = "A margin bound on the error of a linear model, from the length of its weights"
    source = Source(
        "maurer2016", note="contraction of vectors; the ball's complexity as in Bartlett and Mendelson (2002)"
    )
    stated = Kind.OWN
    population = RectifiedNetworks(rows=2000, hidden=0, widths=(0, 0), distance=16.0, noise=0.25, decay=0.05)
    relation = AtMost(delta=0.1)
    control = Control("a quarter of this bound", lambda bound, problem: bound / 4)
    controls = "the error on new rows, at once for all linear models with this length and these margins"
    unexplained = (
        "overlapping classes, for which the bound is trivial; networks; why the bound without R also holds here"
    )
    traced = False

    def passes(self, problem: Trained) -> float:
        return FORWARD

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        network = chain_of(problem).network
        maps = 0 if network is None else len(network.weights)
        return [
            *chained(problem),
            Hypothesis("number of affine maps in the chain", float(maps), "<=", 1.0, "the bound is for linear models"),
        ]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(linear_bound(problem, len(problem.x)))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the model on held-out rows that are not duplicates."""
        return held_error(problem)

    def trivial(self, problem: Trained) -> Array:
        """The error of always saying the most frequent class."""
        return most_frequent(problem)

    def rows_factor(self, problem: Trained) -> float:
        """How many times as many training rows the bound needs to beat guessing, at unchanged length and margins."""
        at = lambda rows: linear_bound(problem, rows)
        return rows_factor(at, len(problem.x), float(most_frequent(problem)))

    def alternative(self, problem: Trained) -> float:
        """The limit of the error that held-out rows alone give."""
        return held_out_limit(problem)


class ProductCertificate(AbstractGauge):
    """Let a model with outputs f be a chain of affine maps A_i with activations of slope at most 1, and let |A| be the
    largest singular value of A. If the input moves, the outputs move at most prod_i |A_i| times as far. Let y be the
    class that the model predicts for a row, and let j run over the other classes. So no change of the row of length
    below

        (f_y - max_j f_j) / ( sqrt(2) prod_i |A_i| )

    changes the predicted class. The test takes 16 to 32 rows that the model predicts correctly. For each row, projected
    gradient steps search for the smallest radius at which the predicted class changes. The median of the certified
    lengths is at most the median of these radii.
    """

    title = "A certified radius against attacks, from the norms of the layers"
    source = Source("tsuzuku2018", "Proposition 1", note="with the product of the norms, compared with attacks")
    stated = Kind.OWN
    population = RectifiedNetworks(steps=60, unseen=False)
    relation = AtLeast()
    control = Control("twice this radius", lambda radius, problem: 2 * radius)
    controls = "the least distance by which an input must move before the model predicts another class"
    unexplained = "how much larger the true distance is; large changes that do not alter the meaning of an input"
    traced = False
    trivial = 0.0  # no radius is certified

    def passes(self, problem: Trained) -> float:
        return 15.0 * 20 * 32 / len(problem.x)  # the cost of the smallest attacks, which measure it

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        found = chained(problem)
        if not all(bool(own.holds) for own in found):
            return found
        return [
            *found,
            Hypothesis("rows that the model predicts correctly", float(len(attacked(problem)[0])), ">=", 16.0),
        ]

    def predict(self, problem: Trained) -> Array:
        x, y = attacked(problem)
        f, rows = problem.model.outputs(x), np.arange(len(x))
        others = np.where(np.arange(f.shape[1]) == y[:, None], -np.inf, f).max(1)
        return jnp.asarray(np.median(f[rows, y] - others) / (math.sqrt(2) * chain_of(problem).slope))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Attack by projected gradient steps in balls; the radius is bisected for each row."""
        radii = first_order_radii(problem)
        # without an active unit there is no slope, so the search starts at the largest radius
        known = np.isfinite(radii)
        upper = np.where(known, radii, radii[known].max(initial=1.0))
        return jnp.median(jnp.asarray(smallest_attacks(problem, upper)))
