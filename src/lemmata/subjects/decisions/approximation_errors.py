"""How well parts of a decision process are approximated: bits of the next state, rewards, and best values.

Squared errors are divided by the variance over the same states. Otherwise errors of the reward would look small: a
reward that is 1 in one state of 2^n has almost no variance. This theory describes exactly what polynomials of a given
degree can explain. It also describes what an infinitely wide network learns from few states: such a network learns low
degrees first. It does not explain how networks in practice perform on the states that a policy visits.
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Order, Source
from lemmata.subjects.decisions import optimal_values
from lemmata.subjects.decisions._bit_decisions import (
    BitDecision,
    BitDecisions,
    ScrambledDecision,
    ScrambledDecisions,
    explained,
    kernel_error,
    next_bits,
)

ABOUT = {"tool": "approximation theory", "architecture": "any", "object": "function class"}

_KEY = "zhu2024representation"


class ExplainedByDegree(Claim[BitDecision]):
    """Consider the process of n bits in which each action flips one pair of bits, or no bit. The reward is 1 in one
    goal state and 0 in all other states. The best value of a state is the largest possible sum of rewards over H > n/2
    states, starting with this state. Let p be a degree with 1 <= p < n - 1. The best polynomials of degree at most p in
    the bits explain the following shares of the variance over all states:

        the whole for every bit of the following state,
        (binom(n, 1) + ... + binom(n, p)) / (2^n - 1) for the reward,
        (n/64) / (m² + n/32) for the best values, where m = (H - n/4)/2.

    The reward is a single conjunction of bits. Nevertheless, its Walsh expansion has terms of all degrees.
    """

    title = "In the parity process, low-degree polynomials explain transitions fully, rewards and values only in part"
    source = Source(_KEY, "Abstract, simple model", note="by polynomials")
    population = BitDecisions()
    relation = Equal()
    control = Control("0.9 times each share", lambda shares, problem: 0.9 * shares)
    controls = "the least squared error of approximations by polynomials"
    unexplained = "networks that are not polynomials of low degree"
    reading = "'simple to represent' is read as 'of low degree', and errors count equally over all states"
    traced = False

    def predict(self, problem: BitDecision) -> Array:
        n, middle = problem.bits, (problem.horizon - problem.bits / 4) / 2
        return jnp.asarray([1.0, _reward(n, problem.degree), n / 64 / (middle**2 + n / 32)])

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Return the explained shares, by least squares on all monomials up to degree p."""
        process = problem.parity
        moved = next_bits(process, int(problem.action))[0].astype(float)
        values = optimal_values(process, problem.horizon)[0]
        return jnp.asarray([explained(part, problem.degree) for part in (moved, process.reward, values)])

    def condition(self, problem: BitDecision) -> Array:
        """Bound the rounding errors. Each share is 1 minus the unexplained share."""
        return 4.0**problem.bits / self.predict(problem)


def _reward(bits: int, degree: int) -> float:
    """Return the share of the reward's variance at degrees from 1 to the given degree."""
    return sum(math.comb(bits, k) for k in range(1, degree + 1)) / (2**bits - 1)


class ScrambledModelsAreHarder(Claim[ScrambledDecision]):
    """Consider a process in which the action sets the first bit of the following state. Every other bit of the
    following state is a parity of more than half of the bits. The reward of a state is its first bit, and its best
    value is the largest possible sum of rewards. Train an infinitely wide ReLU network on half of the states to predict
    a target: one of these parity bits, or the best value. Measure the squared error of the network on the other half,
    divided by the variance of the target. On average over processes, this relative error is larger for the parity bit
    than for the best value.
    """

    title = "In a decision process scrambled by parities, wide ReLU networks learn values more easily than transitions"
    source = Source(_KEY, "Abstract, errors", note="on a process made for this claim, which is not in the paper")
    stated = Kind.OWN
    population = ScrambledDecisions()
    relation = Order("part", (0.0, 1.0))
    control = Control(
        "transitions are easier",
        lambda sign, problem: -sign,
        loose="the claim predicts a sign, which cannot be changed slightly",
    )
    controls = "whether a network approximates transitions or best values better"
    unexplained = "the decision processes of robots"
    traced = False
    trials = 60
    predict = -1.0

    def measure(self, problem: ScrambledDecision, key: Key[Array, ""]) -> Array:
        """Return the relative squared errors of the parity bit and the best value on the other half of the states."""
        values = optimal_values(problem.process, problem.horizon)[0]
        return _errors(next_bits(problem.process, 0)[1].astype(float), values, key)


class ModelErrorsLowerOnParity(Claim[BitDecision]):
    """Consider the process in which each action flips one pair of bits, or no bit. The reward is 1 in one goal state
    and 0 in all other states. The best value of a state is the largest possible sum of rewards. Train an infinitely
    wide ReLU network on half of the states to predict a target: a bit of the following state, or the best value.
    Measure the squared error of the network on the other half, divided by the variance of the target. On average over
    processes, this relative error is smaller for the bit than for the best value.
    """

    title = "In the parity process, wide ReLU networks learn transitions more easily than best values"
    source = Source(_KEY, "Abstract, errors", note="for the parity process")
    population = BitDecisions(bits=8)
    relation = Order("part", (0.0, 1.0))
    control = Control("values are easier", lambda sign, problem: -sign)
    controls = "whether a network approximates transitions or best values better"
    unexplained = "the decision processes of robots"
    traced = False
    trials = 60
    predict = 1.0

    def measure(self, problem: BitDecision, key: Key[Array, ""]) -> Array:
        """Return the relative squared errors of the bit and of the best value on the other half of the states."""
        process = problem.parity
        values = optimal_values(process, problem.horizon)[0]
        return _errors(next_bits(process, int(problem.action))[0].astype(float), values, key)


def _errors(moved: np.ndarray, values: np.ndarray, key: Key[Array, ""]) -> Array:
    """Return the errors of a bit of the next state and of the values, both on the same half of the states."""
    return jnp.asarray([kernel_error(part, len(values) // 2, key) for part in (moved, values)])
