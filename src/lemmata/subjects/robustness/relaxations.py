"""Convex relaxations of ReLU networks: which are tighter, and what optimised slopes achieve.

This theory describes how far the output of a network can fall on a box of inputs. It assumes that all relaxations use
the same bounds of the hidden units. It does not explain the gap between the triangle relaxation and the network itself,
which is a combinatorial problem.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from scipy import optimize

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Kind, Order, Source
from lemmata.errors import SolverError
from lemmata.subjects.robustness import (
    Ball,
    ReluNetwork,
    attack,
    crown,
    exact,
    interval,
    pre_activation_bounds,
    triangle,
)
from lemmata.subjects.robustness._relu_boxes import ReluBox, ReluBoxes

ABOUT = {"tool": "convex optimisation", "architecture": "dense network", "object": "inequality"}

_ROW = np.ones((1, 1))
_ONE_LAYER = (1, 1)
_HALF_MONOTONE = ReluBoxes(inputs=6, width=12, radius=0.5, monotone=0.5, depths=_ONE_LAYER)


def _read(problem: ReluBox) -> tuple[ReluNetwork, Ball]:
    network = ReluNetwork(tuple(map(np.asarray, problem.weights)), tuple(map(np.asarray, problem.biases)))
    return network, Ball(np.asarray(problem.center), float(problem.radius))


def _drop(problem: ReluBox, bound) -> Array:
    """Return how far the output can fall below its value at the centre, according to a bound.

    The function `bound` gives a lower bound on the output.
    """
    network, ball = _read(problem)
    lower = bound(network, ball, pre_activation_bounds(network, ball), _ROW)
    return jnp.asarray(network(ball.center[None])[0, 0] - lower[0])


def _condition(problem: ReluBox) -> Array:
    """Allow for linear programmes, which are solved to about 1e-12 of the output's size. The fall is a difference of
    two outputs.
    """
    size = 1.0 + sum(float(jnp.abs(bias).max()) for bias in problem.biases)
    return 1e4 * size / jnp.maximum(_drop(problem, triangle), 1e-12)


class OrderOfRelaxations(Claim[ReluBox]):
    """On a box of inputs, consider the largest fall of the output of a ReLU network below its value at the centre. A
    mixed-integer programme computes this fall exactly. An attack by one step of gradient descent finds a fall that is
    smaller than the exact fall. The triangle relaxation is a linear programme, and its bound on the fall is larger than
    the exact fall. CROWN is one choice of slopes within the triangle relaxation, and the bound of CROWN is larger
    still. The exact programme, the triangle relaxation and CROWN use the same bounds on the inputs of the hidden units.

    The test numbers the methods: 1 is the attack, 2 is the exact programme, 3 is the triangle relaxation and 4 is
    CROWN.
    """

    title = "Attack, exact programme, triangle relaxation and CROWN give larger and larger falls of a ReLU output"
    source = Source("emergence2026", "Figure 13.6", note="here together with an attack and the exact value")
    population = ReluBoxes(inputs=4, width=6, hidden=2, radius=0.4, depths=(1, 2))
    relation = Order("place", (1.0, 2.0, 3.0, 4.0))
    control = Control("the order is reversed", lambda sign, problem: -sign)
    controls = "the largest fall of the output on a box"
    unexplained = "how far apart the four values are, which grows with depth and radius"
    traced = False  # the programmes are HiGHS's
    trials = 48
    predict = 1.0

    def measure_at(self, problem: ReluBox, key: Key[Array, ""], place: float) -> Array:
        methods = {
            1.0: lambda network, ball, bounds, rows: attack(network, ball, rows, steps=1, restarts=0)[0],
            2.0: lambda network, ball, bounds, rows: exact(network, ball, bounds, rows)[0],
            3.0: triangle,
            4.0: crown,
        }
        return _drop(problem, methods[place])


class IntervalsBeatCrownOfMonotoneNetworks(Claim[ReluBox]):
    """Let no weight of a ReLU network with one hidden layer be negative. On a box, the output is smallest at the lower
    corner, and the lower interval bound is equal to this smallest output. The method CROWN bounds each unit from below
    by a line through 0. The slope of this line is 1 if the upper bound of the unit's input exceeds the lower bound in
    absolute value, and 0 otherwise. Backward substitution with these slopes gives CROWN's lower bound on the output.
    This bound is at most the lower interval bound. In other words, CROWN allows the output to fall at least as far
    below its value at the centre of the box as interval bounds do. So linear bounds like CROWN are not always tighter
    than interval bounds.
    """

    title = "Interval bounds are at least as tight as CROWN on monotone ReLU networks (non-negative weights)"
    source = Source("zhang2018crown", note="its bound with adaptive slopes, compared with intervals")
    stated = Kind.OWN
    population = ReluBoxes(inputs=6, width=12, radius=0.5, monotone=1.0, depths=_ONE_LAYER)
    relation = AtLeast()
    control = Control(
        "CROWN allows a fall of the output at least half larger than intervals allow", lambda drop, problem: 1.5 * drop
    )
    controls = "which of two cheap bounds is tighter"
    unexplained = "how often each of the two is tighter at trained weights"
    trivial = 0.0  # the centre is in the box
    traced = False  # the bounds are NumPy's

    def predict(self, problem: ReluBox) -> Array:
        return _drop(problem, interval)

    def measure(self, problem: ReluBox, key: Key[Array, ""]) -> Array:
        return _drop(problem, crown)

    def condition(self, problem: ReluBox) -> Array:
        return _condition(problem)


def best_slopes(network: ReluNetwork, ball: Ball, bounds: list, row: np.ndarray) -> float:
    """Return the largest lower bound on <row, outputs> over the slopes of one hidden layer, by a linear programme.

    The bound is Lambda'x - eps |Lambda|_1 plus constants, where x is the centre and eps the radius of the box. The
    coefficients Lambda of the input are affine in the slopes. With variables t >= |Lambda|, this is a linear programme
    in (slopes, t).
    """
    (low, high), sign = bounds[0], row @ network.weights[1]
    free = (low < 0) & (high > 0)
    above = np.where(free, high / np.where(free, high - low, 1.0), (low >= 0).astype(float))
    fixed = np.where(free, np.minimum(sign, 0.0), sign) * above
    moving = np.where(free, np.maximum(sign, 0.0), 0.0)
    matrix, bias, d = network.weights[0], network.biases[0], network.inputs
    value = matrix @ ball.center + bias
    offset = np.where(free, -above * low, 0.0) @ np.minimum(sign, 0.0)
    constant = row @ network.biases[1] + fixed @ value + offset
    part = matrix.T * moving
    eye, base = np.eye(d), matrix.T @ fixed
    solved = optimize.linprog(
        np.concatenate([-moving * value, np.full(d, ball.radius)]),
        np.block([[part, -eye], [-part, -eye]]),
        np.concatenate([-base, base]),
        bounds=[(0, 1)] * len(value) + [(0, None)] * d,
        method="highs-ds",
    )
    if solved.status != 0:
        raise SolverError(
            "linear programme in the slopes", found=solved.message, rule="a programme that HiGHS can solve"
        )
    return float(constant - solved.fun)


class AlphaBeatsIntervals(Claim[ReluBox]):
    """Let a ReLU network have one hidden layer. Take lower bounds of its output on a box by backward substitution. For
    each unit that may be active or inactive on the box, the lower linear bound of the unit can have any slope in [0,
    1]. With the best slopes, the resulting bound is at least as tight as the interval bound. In other words, it allows
    the output to fall at most as far below its value at the centre of the box as interval bounds do.

    The reason is that the best slopes reach the optimum of the triangle relaxation. The set of unit values that
    intervals allow contains the set that the triangle relaxation allows.
    """

    title = "Linear bounds of a ReLU network with the best slopes are at least as tight as intervals"
    source = Source("salman2019barrier", note="main result, for one hidden layer, compared with intervals")
    stated = Kind.OWN
    population = _HALF_MONOTONE
    relation = AtMost()
    control = Control("the fall is smaller by at least a hundredth", lambda drop, problem: 0.99 * drop)
    controls = "the largest fall of the output on a box"
    unexplained = "how much tighter the bounds are, and when tighter bounds are worth the cost"
    trivial = "an output may fall without bound"
    traced = False  # the programmes are HiGHS's

    def predict(self, problem: ReluBox) -> Array:
        return _drop(problem, interval)

    def measure(self, problem: ReluBox, key: Key[Array, ""]) -> Array:
        network, ball = _read(problem)
        lower = best_slopes(network, ball, pre_activation_bounds(network, ball), _ROW[0])
        return jnp.asarray(network(ball.center[None])[0, 0] - lower)

    def condition(self, problem: ReluBox) -> Array:
        return _condition(problem)


class AlphaIsTheTriangle(Claim[ReluBox]):
    """Let a ReLU network have one hidden layer. Take lower bounds of its output by backward substitution. For each unit
    that may be active or inactive on the box, the lower linear bound of the unit can have any slope in [0, 1]. The best
    bound over these slopes equals the optimum of the triangle relaxation, because the two programmes are dual to each
    other.
    """

    title = "Linear bounds of a ReLU network with the best slopes reach the triangle relaxation"
    source = Source("salman2019barrier", note="main result, for one hidden layer")
    population = ReluBoxes(inputs=6, width=12, radius=0.5, depths=_ONE_LAYER)
    relation = Equal()
    control = Control(
        "Linear bounds with CROWN's own slopes reach the triangle relaxation",
        lambda drop, problem: _drop(problem, crown),
    )
    controls = "the smallest output on a box, relaxed"
    unexplained = "more layers, for which the bound is no longer concave in the slopes"
    traced = False  # the programmes are HiGHS's

    def predict(self, problem: ReluBox) -> Array:
        network, ball = _read(problem)
        lower = best_slopes(network, ball, pre_activation_bounds(network, ball), _ROW[0])
        return jnp.asarray(network(ball.center[None])[0, 0] - lower)

    def measure(self, problem: ReluBox, key: Key[Array, ""]) -> Array:
        return _drop(problem, triangle)

    def condition(self, problem: ReluBox) -> Array:
        return _condition(problem)
