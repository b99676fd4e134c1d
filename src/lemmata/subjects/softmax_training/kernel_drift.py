"""How far training moves the tangent kernel of a softmax network: as m^(-2), although a lemma only bounds it by 1/m.

This theory is about |H(t) - H(0)| along descent, where H(t) is the tangent kernel at time t and m is the width. At the
symmetric initialisation, hidden units come in pairs with equal weights and opposite signs. Units move by O(1/m), and a
bound that is linear in the movement (Lemma 5.1 of gu2024softmax) gives O(1/m). But to first order, the two units of a
pair move in opposite directions, and H depends on signs only through products of two signs. The first-order changes of
H and of the denominator of the softmax therefore cancel within the pair. A second-order change, of size m^(-2),
remains. The theory assumes that the targets do not grow with m. It does not cover asymmetric initialisations, for which
the kernel moves more.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Kind, Population, Rate, Real, Source, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import draws, paired_signs, points_in_ball
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "kernel"}

_ROWS = 16


class SoftmaxData(eqx.Module):
    """Training data for softmax networks: inputs x, targets y, and the standard deviation sigma of the weights."""

    x: Float[Array, "n d"]
    y: Float[Array, "n k"]
    sigma: float = eqx.field(static=True)


class SoftmaxDataInBalls(Population[SoftmaxData]):
    """Inputs and targets uniform in unit balls."""

    settings = Space(
        n=Integer(8, 2, 32, "points"),
        d=Integer(4, 2, 64, "dimension"),
        k=Integer(1, 1, 4, "outputs"),
        sigma=Real(0.5, 0.1, 0.55, "standard deviation of the weights"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SoftmaxData:
        x, y = draws(key, (setting["n"], setting["d"] + 1), (setting["n"], setting["k"] + 1))
        return SoftmaxData(points_in_ball(x), points_in_ball(y), setting["sigma"])

    def pose(self, problem: object) -> SoftmaxData | None:
        """Convert a regression: take 16 rows, scale the longest input and target to norm 1, and set sigma to 1/2."""
        if not isinstance(problem, Regression):
            return None
        x, y = problem.x[:_ROWS], problem.y[:_ROWS]
        scale = lambda rows: rows / jnp.maximum(jnp.linalg.norm(rows, axis=1).max(), jnp.finfo(rows.dtype).tiny)
        return SoftmaxData(scale(x), scale(y), 0.5)

    def hypotheses(self, problem: SoftmaxData) -> list[Hypothesis]:
        longest = jnp.linalg.norm(problem.x, axis=1).max()
        targets = jnp.linalg.norm(problem.y, axis=1).max()
        return [
            Hypothesis("some input is not 0", longest, ">", 0.0, "the kernel of the zero input is 0"),
            in_unit_ball(problem.x, why="the source's normalisation"),
            Hypothesis("some target is not 0", targets, ">", 0.0, "the network already equals its targets"),
            in_unit_ball(problem.y, "targets", "units move in proportion to the targets"),
        ]


_WIDTHS = (128.0, 256.0, 512.0, 1024.0)
_STEPS = 100


@jax.jit
def _drifts(problem: SoftmaxData, key: Key[Array, ""]) -> Float[Array, " widths"]:
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


class KernelDriftWidth(Claim[SoftmaxData]):
    """Train a softmax network m <a_l, softmax(W' x)> with m hidden units on n inputs and targets of norm at most 1. At
    initialisation, the units come in pairs with equal weights and opposite signs a_lr = ±1. The training takes 100
    steps of size 1/(2 m tr K), so that the training time does not depend on m. Here K is the limit of the tangent
    kernel H for infinite m. At the end t of training, the relative change of the tangent kernel is

        |H(t) - H(0)|_F / |H(0)|_F = C m^(-2).

    If you give your own data, lemmata uses the first 16 rows, with weights of standard deviation 1/2. It scales the
    inputs so that the longest input has norm 1, and the targets so that the longest target has norm 1.
    """

    title = "In training, the tangent kernel of a softmax network of width m changes by the order m^(-2)"
    source = Source("gu2024softmax", "Lemma 5.1", note="along descent (the exponent is not in the source)")
    stated = Kind.OWN
    population = SoftmaxDataInBalls()
    # relative corrections of the next order are 1/m with a constant of a few units; they change the slope by 0.05 at m
    # = 128
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.1, resolution=0.15)
    control = Control("the kernel moves as m^(-3/2)", lambda exponent, problem: exponent + 0.5)
    controls = "how far the tangent kernel of a softmax network moves in training"
    unexplained = "the constant, which grows with the size of the targets, and with time if lambda is small"
    trials = 96
    predict = -2.0

    def measure(self, problem: SoftmaxData, key: Key[Array, ""]) -> Array:
        """The relative change of the tangent kernel in training, for one new network of each width."""
        return _drifts(problem, key)
