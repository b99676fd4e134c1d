"""Random smooth fields on the unit square: inputs of Galerkin attention, and images for the operator."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.operators import Affine, GalerkinAttention, SuperResolutionOperator, pixel_centres

_WAVES = 16


class Waves(eqx.Module):
    """A field of c channels on the unit square: sums of cosines with random directions and phases.

    Args:
        directions: the wave vectors, in radians per side of the square.
        phases: the phases of the waves.
        mixing: the contribution of each wave to each channel.
    """

    directions: Float[Array, "2 waves"]
    phases: Float[Array, " waves"]
    mixing: Float[Array, "waves c"]

    def __call__(self, places: Float[Array, "m 2"]) -> Float[Array, "m c"]:
        """Return the c channels of the field at each place."""
        return jnp.cos(places @ self.directions + self.phases) @ self.mixing


def _drawn(key: Key[Array, ""], like: Any) -> Any:
    """Draw standard normal numbers in the shapes of a tree. One draw for all leaves needs only one compilation."""
    leaves, tree = jax.tree.flatten(like)
    ends = [0]
    for leaf in leaves:
        ends.append(ends[-1] + leaf.size)
    numbers = jax.random.normal(key, (ends[-1],))
    parts = [numbers[ends[i] : ends[i + 1]].reshape(leaf.shape) for i, leaf in enumerate(leaves)]
    return jax.tree.unflatten(tree, parts)


def _shapes(**shapes: tuple[int, ...]) -> dict[str, jax.ShapeDtypeStruct]:
    return {name: jax.ShapeDtypeStruct(shape, float) for name, shape in shapes.items()}


def _waves(drawn: dict[str, Array], frequency: float) -> Waves:
    """Return channels of variance about 1, from normal numbers with the shapes of `_wave_shapes`."""
    mixing = drawn["mixing"] / (_WAVES / 2) ** 0.5
    return Waves(frequency * drawn["directions"], 10 * drawn["phases"], mixing)


def _wave_shapes(channels: int) -> dict[str, jax.ShapeDtypeStruct]:
    return _shapes(directions=(2, _WAVES), phases=(_WAVES,), mixing=(_WAVES, channels))


class AttendedField(eqx.Module):
    """A field, layers of Galerkin attention, and the places at which the layers are applied to the field.

    Args:
        field: the field, with as many channels as the attention.
        attentions: the layers of attention.
        places: the places in the unit square.
    """

    field: Waves
    attentions: tuple[GalerkinAttention, ...]
    places: Float[Array, "m 2"]

    @property
    def rows(self) -> Float[Array, "m c"]:
        """The field at the places."""
        return self.field(self.places)


class AttendedFields(Population[AttendedField]):
    """Random smooth fields, and layers of attention with random maps and random scales and shifts of the layer norms.

    Args:
        layers: the number of layers of attention.
        frequency: the root mean square of the waves' frequencies along each axis, in radians per side of the square.
    """

    layers: int = eqx.field(default=1, static=True)
    frequency: float = eqx.field(default=2.0, static=True)
    settings = Space(
        heads=Integer(2, 1, 16, "heads", corners=(1, 2)),
        each=Integer(4, 4, 64, "channels a head", corners=(4, 6)),
        m=Integer(48, 8, 4096, "places", step=8, corners=(40, 64)),
    ).where("there are enough places for the channels", lambda s: s["m"] >= 2 * s["heads"] * s["each"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> AttendedField:
        """Draw normal maps and biases, layer-norm scales near 1, and shifts of size 1/2.

        The standard deviation 2 of the biases separates the channels of a head.
        """
        drawing, placing = jax.random.split(key)
        heads, each = setting["heads"], setting["each"]
        width = heads * each
        layer = _shapes(maps=(3, width, width), biases=(3, width), scales=(2, heads, each), shifts=(2, heads, each))
        waves, layers = _drawn(drawing, (_wave_shapes(width), [layer] * self.layers))
        attentions = tuple(_attention(own, width) for own in layers)
        return AttendedField(_waves(waves, self.frequency), attentions, jax.random.uniform(placing, (setting["m"], 2)))

    def hypotheses(self, problem: AttendedField) -> list[Hypothesis]:
        least = jnp.asarray(float(problem.attentions[0].key_scale.shape[1]))
        return [Hypothesis("channels a head", least, ">=", 2.0, "the layer norm of a single channel is 0")]


def _attention(drawn: dict[str, Array], width: int) -> GalerkinAttention:
    maps = [Affine(weight / width**0.5, 2 * bias) for weight, bias in zip(drawn["maps"], drawn["biases"], strict=True)]
    (key_scale, value_scale), (key_shift, value_shift) = 1 + 0.2 * drawn["scales"], 0.5 * drawn["shifts"]
    return GalerkinAttention(maps[0], maps[1], maps[2], key_scale, key_shift, value_scale, value_shift)


class ResolvedField(eqx.Module):
    """Colours as a smooth field, an operator with random weights, and the places at which the operator is applied.

    Args:
        field: the field of three channels.
        model: the super-resolution operator.
        places: the places in the unit square.
        side: the number of pixels per side of the operator's input image.
    """

    field: Waves
    model: SuperResolutionOperator
    places: Float[Array, "m 2"]
    side: int = eqx.field(static=True)

    def image(self, side: int) -> Float[Array, "side side 3"]:
        """Return the field at the centres of side x side pixels, scaled so that most values are between 0 and 1."""
        return 0.5 + 0.2 * self.field(jnp.asarray(pixel_centres(side, side))).reshape(side, side, 3)


class ResolvedFields(Population[ResolvedField]):
    """Random fields of colours, and operators with random weights.

    Args:
        started: whether the last map of the operator is 0, as at the start of training; otherwise this map is random.
    """

    started: bool = eqx.field(default=False, static=True)
    settings = Space(
        side=Integer(7, 2, 256, "pixels of a side", corners=(5, 9)),
        m=Integer(32, 4, 4096, "positions", step=2, corners=(24, 40)),
        width=Integer(8, 4, 256, "width of the operator", step=4, corners=(4, 12)),
        blocks=Integer(1, 1, 4, "blocks of attention", corners=(1, 2)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ResolvedField:
        """Draw places, and an operator with four encoder channels, heads of four channels, and weights of variance
        1/inputs.
        """
        drawing, placing = jax.random.split(key)
        width = setting["width"]
        model = SuperResolutionOperator(
            jax.random.key(0), channels=4, width=width, heads=width // 4, blocks=setting["blocks"]
        )
        one = lambda node: isinstance(node, Affine)
        maps = [node for node in jax.tree.leaves(model, is_leaf=one) if one(node)]
        waves, weights = _drawn(drawing, (_wave_shapes(3), [own.weight for own in maps]))
        if self.started:
            weights[-1] = jnp.zeros_like(weights[-1])
        filled = iter(Affine(weight / len(weight) ** 0.5, jnp.zeros(weight.shape[1])) for weight in weights)
        model = jax.tree.map(lambda node: next(filled) if one(node) else node, model, is_leaf=one)
        places = jax.random.uniform(placing, (setting["m"], 2))
        return ResolvedField(_waves(waves, 3.0), model, places, setting["side"])

    def hypotheses(self, problem: ResolvedField) -> list[Hypothesis]:
        inside = jnp.max(jnp.abs(problem.places - 0.5))
        return [Hypothesis("positions lie in the unit square", inside, "<=", 0.5, "the image is known only there")]
