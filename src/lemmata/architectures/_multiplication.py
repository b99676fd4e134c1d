"""Layers with the same input whose outputs are multiplied, coordinate by coordinate. Such products are called gates.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import dataclasses
import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._branches import AbstractBranches, both, law_around
from ._state import Means, State


class Multiply(AbstractBranches):
    r"""The product of branches that have the same input and independent parameters: h(x) = prod_b h_b(x).

    A branch is called drawn if each of its coordinates comes from a Dense layer inside the branch. Activations,
    normalisations, Dropout, pools, and sums and products of these may follow. Flatten, patches and concatenation may
    not follow, because their coordinates have several distributions. Given the input and everything before the last
    Dense layers, coordinate i of a drawn branch is independent of coordinate i of every other branch. The distribution
    of this coordinate is the same for all i, and may have any mean. If at most one branch is not drawn, averages over
    coordinates are therefore products. With nngp_b and ntk_b of branch b, the moments of the product are

        nngp = prod_b nngp_b,    ntk = sum_b ntk_b prod_{c != b} nngp_c,

    and the variances and means multiply. For parameters before the branches, gradients through different branches have
    inner products of order width^-1/2, which vanish as the width grows. If two branches are not drawn, the second
    moments do not determine the limit. For example, for a Gaussian u of covariance k, E[u² u'²] is k(x, x) k(x', x') +
    2 k², not k².

    `Multiply([Dense(n), Serial([Dense(n), sigmoid()])])` is a gated linear unit (Dauphin et al., 2017). With `silu` in
    place of `sigmoid`, this layer is the SwiGLU of transformers. A product is not Gaussian, so put a Dense layer before
    the next activation. The product has mean 0 if one branch has mean 0. Such a product may be added to a skip
    connection.

    Args:
        branches: at least one layer, all with the same number of outputs.

    Raises:
        SettingError: without branches, or for branches whose outputs differ in shape.

    `push` raises SettingError if two branches are not drawn. `push` also raises this error if a branch passes on the
    inputs of the network beside another branch, because the number of inputs is fixed.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Dense, Multiply, NNGPKernel, Relu, Serial
        >>> gated = Multiply([Dense(64), Serial([Dense(64), Relu()])])
        >>> x = jnp.array([1.0, 1.0])
        >>> round(float(NNGPKernel(Serial([gated, Dense(1)]))(x, x)), 6)  # 1 times 1/2
        0.5
    """

    __init__ = AbstractBranches.__init__

    def joined(self, values: list[Float[Array, "..."]]) -> Float[Array, "*sites_out fan_out"]:
        """Return the product of the outputs of the branches."""
        return functools.reduce(operator.mul, values)

    def push(self, state: State) -> State:
        """Return the products of the branches' moments, by the formulas of the class."""
        level = state.law.level + 1
        pushed = self.pushed(state, level)
        tied = [position for position, branch in enumerate(pushed) if branch.law.fresh < level]
        if len(tied) > 1:
            raise SettingError(
                "branches of Multiply",
                found=f"branches {tied}, in which coordinate i is a function of input coordinate i, or in which "
                "coordinates have different distributions",
                rule="at most one such branch, because the coordinates of two such branches need not be independent",
                remedy="put a Dense layer into every branch except one, and let only activations follow this Dense "
                "layer",
            )
        self.check_wide(pushed)
        # one factor of mean 0 is enough, because the other factors are independent of it
        centred = max(branch.law.centred for branch in pushed)
        law = law_around(state.law, pushed, len(pushed) == 1 and pushed[0].law.gaussian, centred)
        return _product(pushed).with_law(law)


def _product(parts: list[State]) -> State:
    """Return the moments of a product of independent factors."""
    nngp, xx, yy = (_times([getattr(part, name) for part in parts]) for name in ("nngp", "xx", "yy"))
    others = lambda b: [part.ntk if c == b else part.nngp for c, part in enumerate(parts)]
    ntk = functools.reduce(operator.add, (_times(others(b)) for b in range(len(parts))))
    means = [part.means for part in parts if part.means is not None]
    joint = None
    if len(means) == len(parts):
        joint = Means(_times([mean.x for mean in means]), _times([mean.y for mean in means]))
    # 1 - (1 - v)(1 - w) = v + (1 - v) w, whose terms are not negative
    versines = [part.versine for part in parts if part.versine is not None]
    versine = functools.reduce(lambda v, w: v + (1.0 - v) * w, versines) if len(versines) == len(parts) else None
    grids = [part.grid for part in parts]
    changes: dict[str, Any] = {
        name: functools.reduce(both, [getattr(grid, name) for grid in grids]) for name in ("mask_x", "mask_y")
    }
    if grids[0].left is not None:
        changes |= {name: _product([getattr(grid, name) for grid in grids]) for name in ("left", "right")}
    moments = {"nngp": nngp, "ntk": ntk, "xx": xx, "yy": yy, "versine": versine}
    return parts[0].replace(**moments, means=joint, grid=dataclasses.replace(grids[0], **changes))


def _times(factors: Sequence[Float[Array, "..."]]) -> Float[Array, "..."]:
    """Return the product, ordered so that it overflows only if the result itself is out of range."""
    if len(factors) < 3:
        return functools.reduce(operator.mul, factors)
    powers = [jax.lax.stop_gradient(jnp.frexp(factor)[1]) for factor in factors]
    near_one = (jnp.ldexp(factor, -power) for factor, power in zip(factors, powers, strict=True))
    return jnp.ldexp(functools.reduce(operator.mul, near_one), functools.reduce(operator.add, powers))
