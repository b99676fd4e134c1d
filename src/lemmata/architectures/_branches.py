"""Layers with the same input: a base class, and sums of the outputs of layers, such as residual connections.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import abc
import dataclasses
import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax
from jaxtyping import Array, Bool, Float, Key

from lemmata.errors import SettingError

from ._layer import AbstractLayer, Shape
from ._state import Grid, Law, Means, State
from ._versine import Term, versine_of_sum


class Identity(AbstractLayer):
    """The layer that returns its input: the skip connection of a residual network."""

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The input x."""
        return x

    def push(self, state: State) -> State:
        """Return the same moments."""
        return state


class AbstractBranches(AbstractLayer):
    """Layers (branches) that have the same input and independent parameters.

    By default, all outputs must have the same shape. A subclass defines how the outputs are combined.
    """

    branches: tuple[AbstractLayer, ...]
    whole = True

    def __init__(self, branches: Sequence[AbstractLayer]):
        self.branches = tuple(branches)

    def __check_init__(self):
        if not self.branches:
            raise SettingError(self._name, found="none", rule="at least one layer")
        for position, layer in enumerate(self.branches):
            if not isinstance(layer, AbstractLayer):
                raise SettingError(
                    f"branch {position} of {type(self).__name__}",
                    found=repr(layer),
                    rule="a layer (an AbstractLayer)",
                    remedy="wrap a plain function as Elementwise(fn)",
                )

    @property
    def _name(self) -> str:
        return f"branches of {type(self).__name__}"

    @abc.abstractmethod
    def joined(self, values: list[Float[Array, "..."]]) -> Float[Array, "*sites_out fan_out"]:
        """Return the outputs of the branches at one point, combined into one output."""

    def joined_shape(self, shapes: list[Shape]) -> Shape:
        """Return the shape of `joined`, from the shapes of the branches. Raise an error if the shapes do not fit."""
        if len(set(shapes)) > 1:
            raise SettingError(
                self._name,
                found=f"branches with {shapes} outputs",
                rule="the same number of outputs for every branch",
                remedy="give a branch that is added to Identity as many outputs as it has inputs",
            )
        return shapes[0]

    def joined_mask(self, masks: list[Bool[Array, "*sites"] | None]) -> Bool[Array, "*sites_out"] | None:
        """Return the mask of `joined`. By default, a position is filled if every branch's output is filled there."""
        return functools.reduce(both, masks)

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[Any, ...], Shape]:
        """Return a tuple of the branches' parameters, drawn with independent keys."""
        keys = jax.random.split(key, len(self.branches))
        drawn = [layer.init(own, fan_in, dtype=dtype) for layer, own in zip(self.branches, keys, strict=True)]
        return tuple(params for params, _ in drawn), self.joined_shape([shape for _, shape in drawn])

    def apply(self, params: tuple[Any, ...], x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_out"]:
        """Return the outputs of the branches at one point, joined into one output."""
        return self.joined([layer.apply(own, x) for layer, own in zip(self.branches, params, strict=True)])

    def apply_masked(
        self, params: tuple[Any, ...], x: Float[Array, "..."], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites_out fan_out"], Bool[Array, "*sites_out"] | None]:
        """Return the joined output at one field with empty positions, and the mask of the output."""
        values = [layer.apply_masked(own, x, mask) for layer, own in zip(self.branches, params, strict=True)]
        outputs, masks = (list(part) for part in zip(*values, strict=True))
        return self.joined(outputs), self.joined_mask(masks)

    def pushed(self, state: State, level: int) -> list[State]:
        """Check that the shapes of the branches fit together, and return the moments of the branches."""
        inside = state.with_law(dataclasses.replace(state.law, level=level))
        states = [inside.through(layer) for layer in self.branches]
        self.joined_shape([(*own.grid.sites, own.fan_in) if own.grid.sites else own.fan_in for own in states])
        return states

    def check_apart(self, pushed: list[State], level: int) -> None:
        """Refuse the branches if the product of the outputs of two branches need not have mean 0."""
        loose = [position for position, branch in enumerate(pushed) if branch.law.centred < level]
        if len(loose) > 1:
            raise SettingError(
                self._name,
                found=f"branches {loose}, whose outputs may have a mean other than 0 for a given input",
                rule="at most one such branch, because the product of two such branches need not have mean 0",
                remedy="put a Dense layer at the end of every branch, except for one branch",
            )
        self.check_wide(pushed)

    def check_wide(self, pushed: list[State]) -> None:
        """Refuse several branches if one passes on the inputs of the network, whose number of coordinates is fixed."""
        narrow = [position for position, branch in enumerate(pushed) if not branch.law.wide]
        if narrow and len(pushed) > 1:
            raise SettingError(
                self._name,
                found=f"branches {narrow}, which return inputs of the network, so their width is fixed",
                rule=(
                    "branches whose width tends to infinity, because products of branches are averaged over the width"
                ),
                remedy=f"put a Dense layer before {type(self).__name__}",
            )

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether one of the branches needs all pairs of positions."""
        return any(layer.needs_pairs(pairs) for layer in self.branches)

    def token_count(self) -> int | None:
        """Return the smallest vocabulary of the branches. Raise an error if only some of the branches read tokens."""
        counts = [layer.token_count() for layer in self.branches]
        known = [count for count in counts if count is not None]
        if 0 < len(known) < len(counts):
            raise SettingError(
                self._name,
                found="some branches that begin with an Embedding and some that do not",
                rule="either all branches read tokens, or none does",
                remedy="begin every branch with an Embedding, or put one Embedding before the branches",
            )
        return min(known, default=None)


class Parallel(AbstractBranches):
    r"""The sum of branches that have the same input and independent parameters: h(x) = sum_b h_b(x).

    Suppose that, given the input, the outputs of all branches have mean 0, with at most one exception. Then products of
    values of different branches have mean 0, and so have products of their derivatives with respect to the input. The
    averages of these products over coordinates vanish as the width grows. So nngp = sum_b nngp_b, ntk = sum_b ntk_b and
    the variances add. Here, nngp and ntk belong to the sum h, and nngp_b and ntk_b belong to branch b. A branch has
    mean 0 if only odd maps follow its last Dense layer. Odd maps are Identity, LayerNorm, RMSNorm, Dropout, Erf, Sign,
    Gabor, Sin without a phase, Monomial and Hermite of odd degree, and Polynomial of odd powers. One block of a
    residual network is `Parallel([Identity(), Serial([Relu(), Dense(n)])])`.

    The sum is Gaussian if every branch is Gaussian. An activation may follow only if the sum is Gaussian. All branches
    must have the same number of outputs. If one branch is an `Identity`, this number equals the number of inputs. The
    number of inputs of a network does not go to infinity, so averages over the inputs would not converge. Therefore,
    `Identity` may not be a branch at the inputs of a network, unless it is the only branch.

    Args:
        branches: at least one layer.

    `push` raises SettingError if the means of two branches are not known to be 0, or if one of several branches passes
    on the inputs of the network. Like `init`, it also raises this error if the widths of branches differ. An example of
    two unknown means is two activations of one input. The second moments of the input do not determine the covariance
    of these activations.
    """

    __init__ = AbstractBranches.__init__

    def joined(self, values: list[Float[Array, "..."]]) -> Float[Array, "*sites_out fan_out"]:
        """Return the sum of the outputs of the branches."""
        return functools.reduce(operator.add, values)

    def push(self, state: State) -> State:
        """Return the sums of the branches' moments and tangent kernels."""
        level = state.law.level + 1
        pushed = self.pushed(state, level)
        self.check_apart(pushed, level)
        gaussian = all(branch.law.gaussian for branch in pushed)
        centred = min(branch.law.centred for branch in pushed)
        return functools.reduce(sum_of, pushed).with_law(law_around(state.law, pushed, gaussian, centred))


def residual(layer: AbstractLayer) -> Parallel:
    """Return the layer x + layer(x). `layer` must end in Dense, and have equally many inputs and outputs."""
    return Parallel([Identity(), layer])


def law_around(outside: Law, pushed: list[State], gaussian: bool, centred: int) -> Law:
    """Return the `Law` of the joined output, the known properties of its distribution, for the surrounding network."""
    fresh = min(branch.law.fresh for branch in pushed)
    return dataclasses.replace(
        outside,
        gaussian=gaussian,
        centred=min(outside.level, centred),
        wide=all(branch.law.wide for branch in pushed),
        fresh=min(outside.level, fresh),
    )


def both(one: Any, other: Any) -> Any:
    """Return the mask of positions that both masks contain. Without masks, return None, which means all positions."""
    return one if other is None else one & other


def sum_of(one: State, other: State) -> State:
    """Return the state of the sum of two terms whose product has mean 0."""
    means = one.means if other.means is None else other.means
    if one.means is not None and other.means is not None:
        means = Means(one.means.x + other.means.x, one.means.y + other.means.y)
    versine = None
    if one.versine is not None and other.versine is not None:
        versine = versine_of_sum(
            Term(one.nngp, one.versine, one.xx, one.yy), Term(other.nngp, other.versine, other.xx, other.yy)
        )
    return one.replace(
        nngp=one.nngp + other.nngp,
        ntk=one.ntk + other.ntk,
        xx=one.xx + other.xx,
        yy=one.yy + other.yy,
        means=means,
        grid=_common_grid(one.grid, other.grid),
        versine=versine,
    )


def _common_grid(one: Grid, other: Grid) -> Grid:
    """Return the grid of a sum of two terms on the same sites."""
    masks = {"mask_x": both(one.mask_x, other.mask_x), "mask_y": both(one.mask_y, other.mask_y)}
    if one.left is None or other.left is None or one.right is None or other.right is None:
        return dataclasses.replace(one, **masks)
    return dataclasses.replace(one, left=sum_of(one.left, other.left), right=sum_of(one.right, other.right), **masks)
