"""Minimise outputs of a network on a ball with HiGHS, by the triangle linear programme or a mixed-integer programme."""

import time
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import optimize, sparse

from lemmata.errors import SolverError

from ._network import ReluNetwork
from ._relaxation import Ball, Bounds

_REMEDY = "divide weights and biases by powers of 10 that do not change the class, or use method='alpha'"


def _triangles(network: ReluNetwork, ball: Ball, bounds: Bounds, whole: bool):
    """Return the constraints of the triangle or mixed-integer programme for v = (x, a_1, ..., a_H[, switches]).

    The constraints are A and b of A v <= b, the equalities, and the lower and upper ends of v. The vectors a_1, ...,
    a_H are the hidden layers. Let a = max(z, 0) be a unit with bounds l <= z <= u. If l < 0 < u, the constraints are a
    >= z, a >= 0 and a <= u (z - l)/(u - l). If `whole` is true, a switch s in {0, 1} is added for this unit. Then a <=
    z - l (1 - s) and a <= u s replace the last constraint. The intervals max(l, 0) <= a <= max(u, 0) use the bounds on
    z.
    """
    sizes = [network.inputs, *(len(low) for low, _ in bounds)]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    switches = sum(int(((low < 0) & (high > 0)).sum()) for low, high in bounds) if whole else 0
    total = int(starts[-1]) + switches
    upper, limits, equal, values = [], [], [], []
    lows, highs = [ball.center - ball.radius], [ball.center + ball.radius]
    switch = int(starts[-1])
    for position, (low, high) in enumerate(bounds):
        weight, bias = network.weights[position], network.biases[position]
        before = slice(starts[position], starts[position + 1])
        lows.append(np.maximum(low, 0.0))
        highs.append(np.maximum(high, 0.0))
        for unit in range(len(low)):
            z, own = np.zeros(total), np.zeros(total)
            z[before] = weight[unit]
            own[starts[position + 1] + unit] = 1.0
            if high[unit] <= 0:
                continue
            if low[unit] >= 0:
                equal.append(own - z)
                values.append(bias[unit])
                continue
            upper.append(z - own)
            limits.append(-bias[unit])
            if whole:
                pick = np.zeros(total)
                pick[switch] = 1.0
                switch += 1
                upper += [own - z - low[unit] * pick, own - high[unit] * pick]
                limits += [bias[unit] - low[unit], 0.0]
            else:
                slope = high[unit] / (high[unit] - low[unit])
                upper.append(own - slope * z)
                limits.append(slope * (bias[unit] - low[unit]))
    if not np.isfinite([*map(np.sum, map(np.abs, (*upper, *equal))), *limits, *values]).all():
        raise SolverError(
            "linear programme of the relaxation",
            found="bounds of hidden units that overflow",
            rule="finite numbers",
            remedy=_REMEDY,
        )
    low_box = np.concatenate([*lows, np.zeros(switches)])
    high_box = np.concatenate([*highs, np.ones(switches)])
    return (_matrix(upper, total), np.asarray(limits), _matrix(equal, total), np.asarray(values), low_box, high_box)


def _matrix(rows: list[np.ndarray], total: int) -> sparse.csr_array:
    return sparse.csr_array(np.asarray(rows) if rows else np.zeros((0, total)))


def _costs(network: ReluNetwork, rows: np.ndarray, total: int, switches: int) -> np.ndarray:
    costs = np.zeros((len(rows), total))
    last = rows @ network.weights[-1]
    end = total - switches
    costs[:, end - last.shape[1] : end] = last
    return costs


def triangle(network: ReluNetwork, ball: Ball, bounds: Bounds, rows: Float[np.ndarray, "r k"]) -> np.ndarray:
    """Return, for each row, the smallest <row, outputs> in the triangle relaxation, by one linear programme.

    Raises:
        SolverError: if HiGHS does not solve a programme.
    """
    upper, limits, equal, values, low, high = _triangles(network, ball, bounds, whole=False)
    found, offsets = [], rows @ network.biases[-1]
    box = np.stack([low, high], axis=1)
    for cost in _costs(network, rows, len(low), 0):
        solved = optimize.linprog(cost, upper, limits, equal, values, box, method="highs-ds")
        if solved.status != 0:
            sizes = [float(np.abs(each).max(initial=0.0)) for each in (cost, upper.data, limits, equal.data, values)]
            raise SolverError(
                "linear programme of the relaxation",
                found=f"numbers of sizes up to {max(sizes):.3g}, and from HiGHS: {solved.message}",
                rule="a linear programme that HiGHS can solve, for example of numbers below 1e15",
                remedy=_REMEDY,
            )
        found.append(solved.fun)
    return np.asarray(found) + offsets


def exact(
    network: ReluNetwork, ball: Ball, bounds: Bounds, rows: Float[np.ndarray, "r k"], seconds: float = 60.0
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "r d"]]:
    """Return, for each row, a lower bound on <row, outputs> on the ball, and the best input that was found.

    The method is branch and bound (Tjeng et al., 2019). All searches together take at most about `seconds`. A lower
    bound equals the minimum if its search ended in time. A lower bound is -inf if its search found no bound.
    """
    upper, limits, equal, values, low, high = _triangles(network, ball, bounds, whole=True)
    switches = len(low) - network.inputs - sum(len(lower) for lower, _ in bounds)
    integrality = np.concatenate([np.zeros(len(low) - switches), np.ones(switches)])
    # SciPy's type stubs allow only scalar limits
    rules: list[tuple[Any, Any, Any]] = [(upper, np.full(len(limits), -np.inf), limits), (equal, values, values)]
    constraints = [optimize.LinearConstraint(*rule) for rule in rules if len(rule[2])]
    box: Any = (low, high)
    end = time.monotonic() + seconds
    found, points, offsets = [], [], rows @ network.biases[-1]
    for cost in _costs(network, rows, len(low), switches):
        left = max(end - time.monotonic(), 0.01)
        options = {"time_limit": left, "mip_rel_gap": 1e-9}
        solved = optimize.milp(
            cost, integrality=integrality, bounds=optimize.Bounds(*box), constraints=constraints, options=options
        )
        bound = solved.fun if solved.status == 0 else solved.mip_dual_bound
        found.append(-np.inf if bound is None else float(bound))
        points.append(ball.center if solved.x is None else solved.x[: network.inputs])
    return np.asarray(found) + offsets, ball.project(np.asarray(points))
