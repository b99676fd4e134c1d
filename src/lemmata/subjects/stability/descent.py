"""Stochastic gradient descent: two runs with the same indices on samples that differ in one row.

This theory bounds how far such runs drift apart for convex losses, on average over the replaced row. It assumes steps
that are short compared with the inverse curvature; without this assumption, its bound is larger. It does not cover
losses that are not convex, and it does not explain why many epochs do little harm.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Source, Space
from lemmata.subjects.stability._replaced_rows import ReplacedRows, opposed_rows

ABOUT = {"tool": "convex optimisation", "architecture": "linear model", "object": "generalisation"}


class CoupledRuns(eqx.Module):
    """Rows with replacements, the radius of the ball for the weights, and the row index and the size of each step."""

    rows: ReplacedRows
    path: Int[Array, " t"]
    steps: Float[Array, " t"]
    radius: Float[Array, ""]

    @property
    def lipschitz(self) -> Float[Array, ""]:
        """The Lipschitz constant of the loss, including its penalty on the ball if there is a penalty."""
        added = jnp.where(self.rows.decay > 0, self.rows.decay * self.radius, 0.0)
        return self.rows.lipschitz + added

    @property
    def smoothness(self) -> Float[Array, ""]:
        """The smoothness constant of the loss with its penalty."""
        return self.rows.smoothness + self.rows.decay


def _path(key: Key[Array, ""], steps: int, n: int) -> Int[Array, " t"]:
    return jax.random.randint(key, (steps,), 0, n)


class ConvexRuns(Population[CoupledRuns]):
    """Runs on beta-smooth Huber losses without a penalty, with steps up to 2/beta on rows drawn with replacement."""

    settings = Space(
        n=Integer(16, 2, 200, "training rows"), d=Integer(3, 1, 30, "weights"), t=Integer(60, 1, 2000, "steps")
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CoupledRuns:
        """Draw runs whose steps are between 0.1 and 1 times the largest allowed step."""
        keys = jax.random.split(key, 4)
        u = jax.random.uniform(keys[0], (2,))
        norm, zone = 0.3 * 10 ** u[0], 0.1 * 10 ** u[1]
        shares = jax.random.uniform(keys[1], (setting["t"],), minval=0.1, maxval=1.0)
        steps = 2 * zone / norm**2 * shares
        far = 2 * norm**2 * steps.sum() + zone  # farther than any run comes
        rows = opposed_rows(keys[2], setting["n"], setting["d"], norm, far)
        path = _path(keys[3], setting["t"], setting["n"])
        return CoupledRuns(ReplacedRows(*rows, zone, jnp.zeros(())), path, steps, jnp.asarray(jnp.inf))

    def hypotheses(self, problem: CoupledRuns) -> list[Hypothesis]:
        most, largest = 2 / problem.smoothness, problem.steps.max()
        return [
            Hypothesis(
                "steps are at most 2/beta",
                largest,
                "<=",
                most,
                "a longer step on one loss can increase the distance of two runs",
            )
        ]


class StronglyConvexRuns(Population[CoupledRuns]):
    """Runs on beta-smooth losses (Huber's loss plus a penalty), with steps of at most 1/beta and weights in a ball."""

    settings = Space(
        n=Integer(20, 8, 200, "training rows", corners=(12, 40)),
        d=Integer(3, 1, 30, "weights"),
        t=Integer(400, 1, 5000, "steps", corners=(100, 400)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CoupledRuns:
        """Draw runs with steps 1/(100 gamma), where gamma is the coefficient of the penalty.

        The radius of the ball is 1/4 of the length that a constant gradient reaches.
        """
        keys = jax.random.split(key, 3)
        u = jax.random.uniform(keys[0], (3,))
        norm, decay = 0.3 * 10 ** u[0], 0.1 * 10 ** u[1]
        zone, radius = norm**2 / (decay * (2 + 40 * u[2])), norm / (4 * decay)
        rows = opposed_rows(keys[1], setting["n"], setting["d"], norm, 2 * norm * radius + zone)
        path = _path(keys[2], setting["t"], setting["n"])
        steps = jnp.full(setting["t"], 0.01) / decay
        return CoupledRuns(ReplacedRows(*rows, zone, decay), path, steps, radius)

    def hypotheses(self, problem: CoupledRuns) -> list[Hypothesis]:
        most = 1 / problem.smoothness
        return [
            Hypothesis(
                "losses are strongly convex (gamma)",
                problem.rows.decay,
                ">",
                0.0,
                "strong convexity makes differences between runs decay",
            ),
            Hypothesis("steps are at most 1/beta", problem.steps.max(), "<=", most, "then steps contract"),
            Hypothesis(
                "weights stay in a ball",
                problem.radius,
                "<",
                jnp.inf,
                "otherwise losses with a penalty are not Lipschitz",
            ),
        ]


class KickedRuns(eqx.Module):
    """Descent from 0 on L max(0, w_1, ..., w_d), the loss of every row; a replaced row has a linear loss.

    The loss L max(0, w_1, ..., w_d) alone does not move the weights from 0. The linear loss also has the slope L.

    Args:
        path: the row of each step.
        step: the size of all steps.
        slope: the slope L of the losses.
        tilt: the share of the linear loss's slope along -(1, .., 1). The rest of the slope is along a separate
            coordinate.
        d: the number of coordinates under the maximum.
        n: the number of rows.
    """

    path: Int[Array, " t"]
    step: Float[Array, ""]
    slope: Float[Array, ""]
    tilt: Float[Array, ""]
    d: int = eqx.field(static=True)
    n: int = eqx.field(static=True)


class KickedPaths(Population[KickedRuns]):
    """Runs on rows drawn with replacement, with four steps per row and more coordinates than steps."""

    settings = Space(
        n=Integer(48, 16, 200, "training rows", corners=(32, 60)),
        t=Integer(192, 16, 1000, "steps", corners=(48, 192)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KickedRuns:
        """Draw step and slope over an order of magnitude, and a small tilt."""
        keys = jax.random.split(key)
        u = jax.random.uniform(keys[0], (3,))
        path = _path(keys[1], setting["t"], setting["n"])
        return KickedRuns(path, 0.03 * 10 ** u[0], 0.3 * 10 ** u[1], 0.01 + 0.09 * u[2], d=setting["t"], n=setting["n"])

    def hypotheses(self, problem: KickedRuns) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the replacement has a slope of at most L (its tilt)",
                problem.tilt,
                "<=",
                1.0,
                "the losses are L-Lipschitz",
            ),
            Hypothesis(
                "there are at least as many coordinates as steps",
                problem.d,
                ">=",
                len(problem.path),
                "each step moves a coordinate that has not moved",
            ),
        ]


def _last(problem: CoupledRuns, replaced: Array | int) -> Float[Array, " d"]:
    """Return the weights after all steps if row number `replaced` is replaced; -1 means that no row is replaced."""
    rows = problem.rows

    def one(at, step):
        index, size = step
        other = index == replaced
        x = jnp.where(other, rows.other_x[index], rows.x[index])
        y = jnp.where(other, rows.other_y[index], rows.y[index])
        slope = jnp.clip((x @ at - y) / rows.zone, -1.0, 1.0) * x + rows.decay * at
        moved = at - size * slope
        return moved * jnp.minimum(1.0, problem.radius / jnp.maximum(jnp.linalg.norm(moved), 1e-300)), None

    return jax.lax.scan(one, jnp.zeros(rows.x.shape[1]), (problem.path, problem.steps))[0]


def _drift(problem: CoupledRuns) -> Float[Array, ""]:
    """Replace each row; return the mean of the largest change of a penalised loss at any row or replacement."""
    losses = lambda at: problem.rows.losses(at) + problem.rows.decay * at @ at / 2
    before = losses(_last(problem, -1))
    change = lambda i: jnp.abs(losses(_last(problem, i)) - before).max()
    return jnp.mean(jax.vmap(change)(jnp.arange(len(problem.rows.y))))


def _steps_and_size(problem: CoupledRuns) -> Array:
    """Return the condition number: each step rounds, and losses at far targets are large relative to their changes."""
    rows = problem.rows
    far = jnp.abs(jnp.concatenate([rows.y, rows.other_y])).max()
    return len(problem.path) + far / (rows.lipschitz**2 * jnp.mean(problem.steps)) * len(rows.y)


class SgdStability(Claim[CoupledRuns]):
    """Let z_1, ..., z_N be the rows of a sample. Let the loss l(w, z) be convex, beta-smooth and L-Lipschitz in the
    weights w. Let w_T be the weights after T steps of stochastic gradient descent with step sizes a_t <= 2/beta.
    Replace row z_i, and let w_T^(i) be the weights of a second run with the same start and the same sequence of row
    indices. Let mean_i be the mean over the replaced row i. For every sequence of row indices,

        mean_i max_z |l(w_T, z) - l(w_T^(i), z)| <= (2 L²/N) sum_t a_t.

    So if the indices are random, the bound holds in expectation for any single row. Linear losses with opposite slopes
    attain the bound.
    """

    title = (
        "Replacing one of N rows changes convex L-Lipschitz losses after SGD by at most 2 L² (sum of step sizes)/N on "
        "average"
    )
    source = Source("hardt2016", "Theorem 3.8", note="averaged over the replaced row instead of the indices")
    population = ConvexRuns()
    relation = AtMost()
    control = Control("the drift is at most 0.95 times the bound", lambda bound, problem: 0.95 * bound)
    controls = "how far one row moves the losses of stochastic gradient descent"
    unexplained = "losses that are not convex"

    def predict(self, problem: CoupledRuns) -> Array:
        return 2 * problem.lipschitz**2 * problem.steps.sum() / len(problem.rows.y)

    def measure(self, problem: CoupledRuns, key: Key[Array, ""]) -> Array:
        return _drift(problem)

    def condition(self, problem: CoupledRuns) -> Array:
        return _steps_and_size(problem)

    def trivial(self, problem: CoupledRuns) -> Array:
        """The bound from the fact that each run moves by at most L a_t in step t."""
        return 2 * problem.lipschitz**2 * problem.steps.sum()


class SgdStronglyConvex(Claim[CoupledRuns]):
    """Let the losses l of N rows be gamma-strongly convex, beta-smooth and L-Lipschitz on a ball of weights. Let w_T be
    the weights after T steps of stochastic gradient descent, projected to this ball, with a constant step size of at
    most 1/beta. Replace row i, and let w_T^(i) be the weights of a second run with the same sequence of row indices.
    Let mean_i be the mean over the replaced row i. For every T,

        mean_i max_z |l(w_T, z) - l(w_T^(i), z)| <= 2 L²/(gamma N).

    So the difference stops growing with the number of steps.
    """

    title = (
        "Replacing one of N rows changes gamma-strongly convex L-Lipschitz losses after SGD by at most 2 L²/(gamma N) "
        "on average"
    )
    source = Source("hardt2016", "Theorem 3.9", note="averaged over the replaced row instead of the indices")
    population = StronglyConvexRuns()
    relation = AtMost()
    control = Control("the drift is at most half of the bound", lambda bound, problem: bound / 2)
    controls = "how far one row moves the losses of stochastic gradient descent"
    unexplained = "why the bound contains L on the whole ball, although the runs visit only a small part of the ball"

    def predict(self, problem: CoupledRuns) -> Array:
        return 2 * problem.lipschitz**2 / (problem.rows.decay * len(problem.rows.y))

    def measure(self, problem: CoupledRuns, key: Key[Array, ""]) -> Array:
        return _drift(problem)

    def condition(self, problem: CoupledRuns) -> Array:
        return _steps_and_size(problem)

    def trivial(self, problem: CoupledRuns) -> Array:
        """The bound that holds because the weights of two runs differ by at most the diameter of the ball."""
        return 2 * problem.lipschitz * problem.radius


def _apart(problem: KickedRuns) -> Float[Array, ""]:
    """Return L times the mean over i of |w_T - w_T^(i)|; without a replaced row, w_T stays at 0."""
    along = jnp.full(problem.d, -problem.tilt / jnp.sqrt(problem.d))
    kick = problem.slope * jnp.append(along, jnp.sqrt(1 - problem.tilt**2))

    def last(replaced: Array) -> Array:
        def one(at, index):
            largest = jnp.argmax(at[:-1])
            size = jnp.where(at[largest] > 0, problem.slope, 0.0) * (index != replaced)
            return at.at[largest].add(-problem.step * size) - problem.step * kick * (index == replaced), None

        return jax.lax.scan(one, jnp.zeros(problem.d + 1), problem.path)[0]

    ends = jax.lax.map(last, jnp.arange(problem.n), batch_size=16)
    return problem.slope * jnp.mean(jnp.linalg.norm(ends, axis=1))


class SmoothnessIsNeeded(Claim[KickedRuns]):
    """Let the losses of N rows be convex and L-Lipschitz, but not smooth. Let w_T be the weights after T steps of
    stochastic gradient descent with step size eta. Replace row i, and let w_T^(i) be the weights of a second run with
    the same sequence of row indices. Let mean_i be the mean over the replaced row i. Then

        L mean_i |w_T - w_T^(i)| <= L² (2 eta sqrt(T) + 4 eta T/N).

    Let one loss be linear, and let all others be L max(0, w_1, ..., w_d). For these losses, the left side is of the
    order of the first term on the right.
    """

    # A shared step adds at most (2 L eta)² to the squared distance, since subgradients of one convex function are
    # monotone. A hit adds another 4 L eta times the distance. Let H be the sum of steps at hits. The largest distance M
    # so far satisfies M² <= 4 L² eta² T + 4 L H M, so M <= 2 L eta sqrt(T) + 4 L H. The mean of H over rows is eta T/N.
    title = (
        "Without smoothness, SGD runs on samples that differ in one row can drift apart like the root of the step count"
    )
    source = Source("bassily2020", note="main result, for sampling with replacement")
    population = KickedPaths()
    relation = AtMost()
    control = Control("the distance is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = "how far runs on neighbouring samples drift apart"
    unexplained = "smooth losses, for which the first term is absent"

    def predict(self, problem: KickedRuns) -> Array:
        t = len(problem.path)
        return problem.slope**2 * problem.step * (2 * t**0.5 + 4 * t / problem.n)

    def measure(self, problem: KickedRuns, key: Key[Array, ""]) -> Array:
        return _apart(problem)

    def trivial(self, problem: KickedRuns) -> Array:
        """The bound from the fact that each run moves by at most L eta in a step."""
        return 2 * problem.slope**2 * problem.step * len(problem.path)
