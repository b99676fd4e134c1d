"""Kernel integrals as means over points: how the output at a coordinate depends on the other coordinates.

Galerkin attention estimates an integral over the unit square by the mean over the points of one call. This theory gives
the error of this mean for fixed weights and smooth fields, at random points and on grids. It also says what changes if
the outputs for many coordinates are computed in several calls. It leaves open how much a trained operator depends on
the mean. It also leaves open how the output depends on the pixels of the input image, which are not points of an
integral.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.ndimage import map_coordinates
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Rate, Source
from lemmata.subjects.operators import galerkin_attention, pixel_centres
from lemmata.subjects.operators._attended_fields import AttendedField, AttendedFields, ResolvedField, ResolvedFields

ABOUT = {
    "tool": "approximation theory",
    "architecture": "attention",
    "object": "function class",
    "StartsBilinear": {"architecture": "convolution"},
    "AnswersFollowTheGivenGrid": {"architecture": "convolution"},
}

_KEY = "wei2023superresolution"
_NODES, _DRAWS = 40, 16
_CELL = (0.5, 0.5)


def integrated(problem: AttendedField) -> Float[Array, "m c"]:
    """Return what the kernel integral over the unit square adds to the field at the places, by Gauss-Legendre."""
    own, (heads, d) = problem.attentions[0], problem.attentions[0].key_scale.shape
    roots, weights = (jnp.asarray(part) / 2 for part in np.polynomial.legendre.leggauss(_NODES))
    nodes = jnp.stack(jnp.meshgrid(roots + 0.5, roots + 0.5), axis=-1).reshape(-1, 2)
    far = problem.field(nodes)
    k, v = (
        _normed((far @ m.weight + m.bias).reshape(-1, heads, d)) * scale + shift
        for m, scale, shift in ((own.key, own.key_scale, own.key_shift), (own.value, own.value_scale, own.value_shift))
    )
    q = (problem.rows @ own.query.weight + own.query.bias).reshape(-1, heads, d)
    return jnp.einsum("mhd,rhd,rhe,r->mhe", q, k, v, jnp.outer(weights, weights).ravel()).reshape(len(q), -1)


def _normed(x: Float[Array, "r h d"]) -> Float[Array, "r h d"]:
    centred = x - x.mean(axis=2, keepdims=True)
    return centred / (jnp.sqrt(jnp.sum(centred**2, axis=2, keepdims=True) / (x.shape[2] - 1)) + 1e-5)


def off_the_integral(problem: AttendedField, draws: Float[Array, "draws n 2"]) -> Float[Array, ""]:
    """Return the root mean square difference between attention over points and the integral, over draws of points."""
    attended = lambda points: galerkin_attention(problem.rows, problem.attentions[0], over=problem.field(points))
    return jnp.sqrt(jnp.mean((jax.vmap(attended)(draws) - problem.rows - integrated(problem)) ** 2))


class IntegralByRandomPoints(Claim[AttendedField]):
    """Fix a smooth field on the unit square, and fix the weights. Galerkin attention over m independent uniform points
    is a Monte Carlo estimate of the kernel integral over the square. The root mean square error of this estimate falls
    like m^(-1/2).
    """

    title = "At m random points, Galerkin attention approaches its kernel integral like m^(-1/2)"
    source = Source(_KEY, "Abstract, kernel integral", note="its error at random points")
    stated = Kind.OWN
    population = AttendedFields()
    relation = Rate("m", (32.0, 128.0, 512.0))
    control = Control("the distance falls like m^-1", lambda exponent, problem: exponent - 0.5)
    controls = "the distance between attention over points and the integral that it approximates"
    unexplained = "whether the outputs of a trained operator still depend on the points"
    trials = 48
    predict = -0.5

    def measure_at(self, problem: AttendedField, key: Key[Array, ""], m: float) -> Array:
        """Return the root mean square error of the estimate over several draws of the m points."""
        return off_the_integral(problem, jax.random.uniform(key, (_DRAWS, int(m), 2)))


class AnswersFollowTheGivenGrid(Claim[ResolvedField]):
    """Sample one smooth field on n x n pixels, and give this image to a neural operator with random weights, which
    computes colours at any coordinates. As n grows, the colour that the operator computes at a fixed coordinate has no
    limit. If n is doubled, the root mean square change of the colour is equally large for n = 8, 16 and 32. The reason
    is that the operator receives the position of the coordinate within its pixel, and this position has no limit.
    """

    title = (
        "As an image's grid is refined, the colours that a neural operator with random weights computes do not converge"
    )
    source = Source(_KEY, "Abstract, function spaces", note="for the grid of the image, with random weights")
    stated = Kind.OWN
    population = ResolvedFields()
    # from 8 to 32 points the slopes of single operators differ by a quarter, up and down
    relation = Rate("n", (8.0, 16.0, 32.0), spread=0.4)
    control = Control("the change falls like n^(-1/2)", lambda exponent, problem: exponent - 0.5)
    controls = "how the colour at a coordinate depends on the pixels of the given image"
    unexplained = "how training changes this"
    reading = "the size of an output pixel, in pixels of the given image, is fixed"
    trials = 48
    predict = 0.0

    def measure_at(self, problem: ResolvedField, key: Key[Array, ""], n: float) -> Array:
        """Return the root mean square change of the colours if the number of pixels per side is doubled."""
        once, twice = (problem.model(problem.image(side), problem.places, _CELL) for side in (int(n), 2 * int(n)))
        return jnp.sqrt(jnp.mean((once - twice) ** 2))


class IntegralOnGrids(Claim[AttendedField]):
    """Fix a smooth field on the unit square, and fix the weights. Take Galerkin attention over the centres of the m
    pixels of a square grid. This attention is the midpoint rule for the kernel integral over the square. As the grid is
    refined, the error of the rule falls like m^-1, that is, like the square of a pixel's side.
    """

    title = "On a grid of m points, Galerkin attention approaches its kernel integral like m^-1"
    source = Source(_KEY, "Abstract, function spaces", note="for the grid of the output pixels")
    population = AttendedFields()
    relation = Rate("m", (100.0, 400.0, 1600.0))
    control = Control("the distance falls like m^(-1/2), as at random points", lambda exponent, problem: exponent + 0.5)
    controls = "the distance between attention over a grid and the integral that it approximates"
    unexplained = "images with edges, whose features are not smooth"
    trials = 48
    predict = -1.0

    def measure_at(self, problem: AttendedField, key: Key[Array, ""], m: float) -> Array:
        """Return the root mean square difference between attention over the grid and the kernel integral."""
        side = round(m**0.5)
        return off_the_integral(problem, jnp.asarray(pixel_centres(side, side))[None])


def _half(problem: ResolvedField) -> Float[Array, "m 2"]:
    return problem.places[: len(problem.places) // 2]


class FixedPointsAreGridFree(Claim[ResolvedField]):
    """A neural operator computes colours at coordinates of an image, by attention that averages over points. Fix a list
    of these points, independently of the coordinates at which colours are computed. The colour at a coordinate is then
    a function of the image and this coordinate alone. It does not matter whether colours are computed for all
    coordinates at once or one by one. Suppose that the fixed points are all coordinates. Then the colours that are
    computed one by one equal the output of the operator for all coordinates at once.
    """

    title = (
        "If a neural operator's attention averages over fixed points, its colour does not depend on the other "
        "coordinates"
    )
    source = Source(_KEY, "Abstract, grid-free", note="with given points of the mean")
    population = ResolvedFields()
    relation = Equal(block=-1)
    control = Control("the colours differ by a factor of 1.001", lambda colours, problem: 1.001 * colours)
    controls = "the colour at a coordinate"
    unexplained = "which points are best"

    def predict(self, problem: ResolvedField) -> Array:
        return problem.model(problem.image(problem.side), problem.places, _CELL)

    def measure(self, problem: ResolvedField, key: Key[Array, ""]) -> Array:
        """Return the colours, computed one by one, with all coordinates as points of the mean."""
        image = problem.image(problem.side)
        alone = lambda place: problem.model(image, place[None], _CELL, over=problem.places)[0]
        return jax.lax.map(alone, problem.places)

    def condition(self, problem: ResolvedField) -> Array:
        """Return the number of places: blocks take means over the places, and norms magnify rounding errors."""
        return jnp.asarray(1.0 * len(problem.places))


class StartsBilinear(Claim[ResolvedField]):
    """Let a neural operator compute colours at any coordinates of an image, and let its last map be 0 before training.
    At any coordinate, and so at any scale, the operator then interpolates bilinearly between the centres of the pixels.
    Beyond the centres of the outermost pixels, the operator repeats the outermost pixels.
    """

    title = "Before training, a neural operator whose last map is 0 interpolates images bilinearly"
    source = Source(_KEY, "Abstract, arbitrary scales", note="at the start, with a head that starts at 0")
    stated = Kind.OWN
    population = ResolvedFields(started=True)
    relation = Equal(block=-1)
    control = Control("pixels are placed by their corners", lambda colours, problem: _cornered(problem))
    controls = "the colours before training"
    unexplained = "the colours after training"

    def predict(self, problem: ResolvedField) -> Array:
        """Return the bilinear interpolation of the image, with coordinates in pixels."""
        return _interpolated(problem, 0.5)

    def measure(self, problem: ResolvedField, key: Key[Array, ""]) -> Array:
        return problem.model(problem.image(problem.side), problem.places, _CELL)

    def condition(self, problem: ResolvedField) -> Array:
        """Bound the rounding errors: places in pixels err by side eps, and colours change by up to 1 per pixel."""
        return jnp.asarray(4.0 * problem.side)


def _interpolated(problem: ResolvedField, shift: float) -> Float[Array, "m 3"]:
    image, places = problem.image(problem.side), (problem.places * problem.side - shift).T
    along = [map_coordinates(image[..., c], list(places), order=1, mode="nearest") for c in range(3)]
    return jnp.stack(along, axis=1)


def _cornered(problem: ResolvedField) -> Float[Array, "m 3"]:
    return _interpolated(problem, 0.0)
