"""The exact places between two inputs at which the slope of a piecewise linear network changes (its kinks)."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.answers import Condition
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.pictures import styled
from lemmata.printable import preformatted

from ._bends import bends
from ._network_layers import PiecewiseLinear, checked_input, piecewise_linear_layers

_CLAIMS = ("approximation.kinks_of_networks.kinks_on_a_segment", "approximation.kinks_of_networks.kinks_on_a_circle")
_SEEN = 1e-9
_APART = 3.0  # standard deviations
_LARGEST, _CHECKED = 1e30, 500


@dataclasses.dataclass(frozen=True, eq=False)
class Kinks:
    """The kinks of a piecewise linear network on the segment (1 - t) a + t b for 0 < t < 1.

    Args:
        places: the values of t at which the slope of an output changes, in order.
        layers: for each kink, the number of the hidden layer of the unit that bends there, from 0.
        units: for each kink, the number of this unit in its layer, from 0.
        jumps: the norm of the change of the outputs' derivative in t, at each kink.
        crossings: the number of sign changes of units in each layer, including sign changes that do not change the
            slope of any output.
        widths: the number of units of each hidden layer.
        expected: the mean number of crossings for random weights with the same mean square. There is one number for
            each hidden layer if no hidden layer has biases, and otherwise one number for the first layer.
        spread: the standard deviation of the first number of `expected`.
        a, b: the ends of the segment.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    places: Float[np.ndarray, " k"]
    layers: Int[np.ndarray, " k"]
    units: Int[np.ndarray, " k"]
    jumps: Float[np.ndarray, " k"]
    crossings: tuple[int, ...]
    widths: tuple[int, ...]
    expected: tuple[float, ...]
    spread: float
    a: Float[np.ndarray, "..."]
    b: Float[np.ndarray, "..."]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def points(self) -> Float[np.ndarray, "k ..."]:
        """The inputs at the kinks."""
        t = self.places.reshape(-1, *(1,) * self.a.ndim)
        return (1 - t) * self.a + t * self.b

    @property
    def pieces(self) -> int:
        """The number of affine pieces of the network on the segment."""
        return len(self.places) + 1

    def __str__(self) -> str:
        units = sum(self.widths)
        parts = ", ".join(f"{own} of {width}" for own, width in zip(self.crossings, self.widths, strict=True))
        lines = [
            f"{len(self.places)} kink{'s' if len(self.places) != 1 else ''} between a and b, from {units} "
            f"unit{'s' if units > 1 else ''}; crossings by layer: {parts}",
            f"random weights of this size would have {self.expected[0]:.4g} +- {self.spread:.2g} crossings in the "
            "first layer",
        ]
        if len(self.expected) == len(self.widths):
            lines.append(
                f"random weights without biases, as here, would have {sum(self.expected):.4g} crossings in all layers"
            )
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the kinks along the segment, coloured by layer, with the change of the slope at
        each kink.
        """
        import altair as alt

        rows = [
            {"t": float(t), "layer": f"layer {layer}", "jump": float(jump)}
            for t, layer, jump in zip(self.places, self.layers, self.jumps, strict=True)
        ]
        marks = alt.Chart(alt.Data(values=rows)).mark_rule(strokeWidth=2)
        return styled(
            marks.encode(
                x=alt.X(
                    "t:Q", axis=alt.Axis(title="place t between a and b", grid=False), scale=alt.Scale(domain=[0, 1])
                ),
                y=alt.Y("jump:Q", axis=alt.Axis(title="change of the slope", grid=False)),
                y2=alt.datum(0.0),
                color=alt.Color("layer:N", title=None),
            ).properties(width=420, height=180)
        )


def kinks(network: Any, a: Any, b: Any, *, params: Any = None) -> Kinks:
    """Find exactly all places between two inputs at which a piecewise linear network changes its slope.

    On the segment, the inputs of each layer are affine between the kinks of the earlier layers. So the kinks of the
    layer are zeros of affine functions. These zeros are computed layer by layer without a grid. For random weights with
    the same mean square, the expected number of crossings (sign changes of units) in the first layer has a closed form.
    Training changes the number of crossings.

    Args:
        network: a `Serial` of lemmata, an `eqx.nn.MLP` or `eqx.nn.Sequential`, or a `torch.nn.Sequential`. Its layers
            are affine, or activations with two slopes and a kink at 0 (ReLU, leaky ReLU, the absolute value).
        a: the input at which the segment begins.
        b: the input at which the segment ends, of the same shape.
        params: the parameters of a network of lemmata.

    Raises:
        SettingError: if the network does not consist of these layers, or has no hidden layer.
        ShapeError, DataError: if the inputs do not fit the network, have different shapes, or are equal.
        PrecisionError: for weights of half precision.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Dense, Relu, Serial
        >>> network = Serial([Dense(2), Relu(), Dense(1)])
        >>> params = ({"weight": jnp.eye(2)}, (), {"weight": jnp.ones((1, 2))})
        >>> found = kinks(network, [-1.0, -1.0], [1.0, 3.0], params=params)
        >>> found.places.tolist()
        [0.25, 0.5]
        >>> print(found)
        2 kinks between a and b, from 2 units; crossings by layer: 2 of 2
        random weights of this size would have 1.705 +- 0.5 crossings in the first layer
        random weights without biases, as here, would have 1.705 crossings in all layers
    """
    start, end = checked_input("a", a), checked_input("b", b)
    if start.shape != end.shape:
        raise ShapeError("b", found=f"shape {end.shape}", rule=f"shape {start.shape}, like a")
    if (start == end).all():
        raise DataError(
            "a and b",
            found="two equal inputs",
            rule="different inputs, which span a segment",
            remedy="pass two different inputs",
        )
    network_layers = piecewise_linear_layers(network, params, start.shape)
    if not network_layers.layers:
        raise SettingError(
            "network",
            found="an affine function",
            rule="at least one hidden layer with a kink",
            remedy="pass a network with ReLU units",
        )
    largest = float(max(np.abs(start).max(), np.abs(end).max()))
    if largest > _LARGEST:
        found = f"{largest:.3g} as the largest absolute value"
        raise DataError("a and b", found=found, rule=f"at most {_LARGEST:g}", remedy="change the unit")
    found = bends(network_layers.layers, start.ravel(), (end - start).ravel(), 0.0, 1.0)
    some = found.ends[:: max(1, len(found.ends) // _CHECKED)]
    at = np.concatenate([some, (some[1:] + some[:-1]) / 2, [1.0]])[:, None]
    network_layers.check((1 - at) * start.ravel() + at * end.ravel())
    order = np.argsort(found.places, kind="stable")
    slopes = found.slopes @ network_layers.weights.T
    # slopes are divided by the largest slope, because squares of small slopes may underflow to 0
    unit = float(np.abs(slopes).max(initial=0.0)) or 1.0
    jumps = unit * np.linalg.norm(np.diff(slopes / unit, axis=0), axis=1)
    # a unit that no later layer uses causes no kink of the output
    seen = jumps / unit > _SEEN * np.linalg.norm(slopes / unit, axis=1).max(initial=0.0)
    widths = tuple(len(layer.biases) for layer in network_layers.layers)
    crossings = tuple(int(n) for n in np.bincount(found.layers, minlength=len(widths)))
    share, plain = _expected(network_layers, start.ravel(), end.ravel())
    expected = tuple(share * width for width in (widths if plain else widths[:1]))
    spread = float(np.sqrt(widths[0] * share * (1 - share)))
    return Kinks(
        places=found.places[order][seen], layers=found.layers[order][seen], units=found.units[order][seen],
        jumps=jumps[seen], crossings=crossings, widths=widths, expected=expected, spread=spread, a=start, b=end,
        conditions=(
            *_conditions(crossings, expected[0], spread, int(len(seen) - seen.sum())),
            *_content(float(np.abs(slopes).max(initial=0.0)), expected[0], spread, widths[0]),
        ),
    )  # fmt: skip


def _expected(network: PiecewiseLinear, a: np.ndarray, b: np.ndarray) -> tuple[float, bool]:
    """Return the expected share of first-layer units that change sign if weights are random, and whether no layer has
    biases.

    The random weights and biases have the same mean squares as in the first layer. Let c be the root mean square of the
    biases divided by that of the weights. The share is the angle between the vectors (a, c) and (b, c), divided by pi.
    """
    first = network.layers[0]
    ratio = np.sqrt(np.mean(first.biases**2) / max(np.mean(first.weights**2), 1e-300))
    left, right = np.append(a, ratio), np.append(b, ratio)
    left, right = (end / (np.abs(end).max() or 1.0) for end in (left, right))
    size = np.linalg.norm(left) * np.linalg.norm(right)
    angle = np.arccos(np.clip(left @ right / size, -1.0, 1.0)) if size > 0 else 0.0
    return float(angle / np.pi), not any(layer.biases.any() for layer in network.layers)


def _conditions(crossings: tuple[int, ...], expected: float, spread: float, unseen: int) -> tuple[Condition, ...]:
    distance = abs(crossings[0] - expected) / spread if spread > 0 else 0.0
    return (
        Condition("the first layer has as many crossings as at random weights (difference in standard deviations)",
                  distance,
                  distance <= _APART, "otherwise training, or scales that differ between coordinates, moved the kinks"),
        Condition("crossings that change no output", float(unseen), None,
                  "later layers do not pass these crossings on"),
    )  # fmt: skip


def _content(slope: float, expected: float, spread: float, width: int) -> tuple[Condition, ...]:
    """Return the conditions under which the kinks and the comparison with random weights are meaningful."""
    most = max(expected, width - expected) / spread if spread > 0 else 0.0
    return (
        Condition("an output changes between a and b (largest slope)", slope, slope > 0,
                  "otherwise the outputs have no kinks, even if units bend"),
        Condition("crossings can differ in number from random weights (largest difference in standard deviations)",
                  most, most > _APART,
                  "otherwise the comparison cannot fail: the layer has too few units, or a, b and 0 are on one line"),
    )  # fmt: skip
