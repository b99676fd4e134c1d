"""How far training moves the tangent kernel of a softmax network: the second order of what a lemma allows.

This theory controls |H(t) - H(0)| along descent from the symmetric initialisation. Units move by O(1/m), and a bound
that is linear in the movement (Lemma 5.1 of gu2024softmax) gives O(1/m). But the two units of a pair have equal weights
and opposite signs: to first order they move oppositely, H depends on signs only through products of two, and both the
change of H and that of the normalisation cancel within the pair. What is left is of second order, m^(-2). The theory
assumes targets of a size that does not grow with m; it leaves unexplained asymmetric initialisations, whose kernels
move more.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Hypothesis, Integer, Rate, Real, Source, Space
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork
from lemmata.problems import Regression
from lemmata.problems._sampled import draws, paired_signs, points_in_ball

_WIDTHS = (128.0, 256.0, 512.0, 1024.0)
_STEPS, _ROWS = 100, 16


class DriftProblem(eqx.Module):
    """Data that softmax networks of several widths are trained on.

    Args:
        x: inputs in the unit ball.
        y: targets.
        sigma: standard deviation of the weights.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n k"]
    sigma: float = eqx.field(static=True)


@jax.jit
def _drifts(problem: DriftProblem, key: Key[Array, ""]) -> Float[Array, " widths"]:
    x, y = problem.x, problem.y
    rate = 0.5 / jnp.trace(gram(SoftmaxTangent(problem.sigma), x))
    found = []
    shapes = [(x.shape[1] + y.shape[1], int(width) // 2) for width in _WIDTHS]
    for drawn in draws(key, *shapes):
        weight = jnp.repeat(problem.sigma * drawn[: x.shape[1]], 2, axis=1)
        start = {"weight": weight, "sign": paired_signs(drawn[x.shape[1] :])}
        network = SoftmaxNetwork(weight.shape[1], y.shape[1], problem.sigma)
        step = lambda _, params, network=network: network.step(params, x, y, rate / network.width)
        end = jax.lax.fori_loop(0, _STEPS, step, start)
        first = network.tangent(start, x)
        found.append(jnp.linalg.norm(network.tangent(end, x) - first) / jnp.linalg.norm(first))
    return jnp.stack(found)


class KernelDriftWidth(Claim[DriftProblem]):
    """The tangent kernel H of a softmax network of width m, trained from the symmetric initialisation for a time that
    does not depend on m (100 steps of size 1/(2 m tr K)), has moved by

        |H(t) - H(0)|_F / |H(0)|_F = C m^(-2).

    Of a user's data the first 16 rows are used, with sigma = 1/2, inputs scaled so that the longest has norm 1, and
    targets likewise.
    """

    title = "The tangent kernel of a softmax network moves as m^(-2)"
    source = Source("gu2024softmax", "Lemma 5.1", note="along descent (the exponent is not in the source)")
    # Relative corrections of the next order, 1/m with a constant of a few units: 0.05 of slope at m = 128.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.1, resolution=0.15)
    label = "rate"
    controls = "how far the tangent kernel of a softmax network moves in training"
    unexplained = "the constant, which grows with the size of the targets and with time where lambda is small"
    problem = DriftProblem
    trials = 96
    batch = 32

    def settings(self) -> Space:
        """Sizes and the standard deviation of the weights."""
        return Space(
            n=Integer(8, 2, 32, "points"),
            d=Integer(4, 2, 64, "dimension"),
            k=Integer(1, 1, 4, "outputs"),
            sigma=Real(0.5, 0.1, 0.55, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> DriftProblem:
        """Points and targets in unit balls."""
        x, y = draws(key, (setting["n"], setting["d"] + 1), (setting["n"], setting["k"] + 1))
        return DriftProblem(points_in_ball(x), points_in_ball(y), setting["sigma"])

    def pose(self, problem: object) -> DriftProblem | None:
        """The first rows of a regression, scaled."""
        if not isinstance(problem, Regression):
            return problem if isinstance(problem, DriftProblem) else None
        x, y = problem.x[:_ROWS], problem.y[:_ROWS]
        scale = lambda rows: rows / jnp.maximum(jnp.linalg.norm(rows, axis=1).max(), jnp.finfo(rows.dtype).tiny)
        return DriftProblem(scale(x), scale(y), 0.5)

    def hypotheses(self, problem: DriftProblem) -> list[Hypothesis]:
        """The unit balls, and something to learn."""
        longest = jnp.linalg.norm(problem.x, axis=1).max()
        targets = jnp.linalg.norm(problem.y, axis=1).max()
        return [
            Hypothesis("some input is not 0", longest, ">", 0.0, "the kernel of the zero input is 0"),
            Hypothesis("inputs lie in the unit ball", longest, "<=", 1.0, "the source's normalisation"),
            Hypothesis("some target is not 0", targets, ">", 0.0, "the network is at its targets already"),
            Hypothesis("targets lie in the unit ball", targets, "<=", 1.0, "units move in proportion to the targets"),
        ]

    def predict(self, problem: DriftProblem) -> Array:
        """The exponent."""
        return jnp.asarray(-2.0)

    def measure(self, problem: DriftProblem, key: Key[Array, ""]) -> Array:
        """The relative movement in training, with a new network for each width."""
        return _drifts(problem, key)

    def control(self) -> Control:
        """What a bound that is linear in the movement gives."""
        return Control("the kernel moves as 1/m", lambda exponent, problem: exponent + 1)
