"""Test problems: separable scaling laws, with a compute budget to divide between parameters and tokens."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space


class SeparableLaw(eqx.Module):
    """The loss floor + A N^-alpha + B D^-beta of N parameters and D tokens, at a training cost of kappa N D.

    Args:
        floor: the loss that no size removes.
        amplitudes: the amplitudes A and B.
        exponents: the exponents alpha and beta.
        cost: the number kappa of operations for each parameter and token.
        compute: the number C of operations of a training run.
        served: the number of tokens that the trained model processes, at 2 operations for each parameter.
    """

    floor: Float[Array, ""]
    amplitudes: Float[Array, "2"]
    exponents: Float[Array, "2"]
    cost: Float[Array, ""]
    compute: Float[Array, ""]
    served: Float[Array, ""]

    def parts(self, size: Float[Array, ""], data: Float[Array, ""]) -> Float[Array, "2"]:
        """The two terms A N^-alpha and B D^-beta."""
        return self.amplitudes * jnp.stack([size, data]) ** -self.exponents


class SeparableLaws(Population[SeparableLaw]):
    """Laws with close but different exponents, amplitudes of some hundreds, a large budget, and tokens to serve."""

    settings = Space(
        exponent=Real(0.28, 0.1, 0.8, "the smaller of alpha and beta", corners=(0.2, 0.5)),
        ratio=Real(1.3, 1.1, 2.5, "ratio of the larger exponent to the smaller one", corners=(1.2, 1.6)),
        decades=Real(21.0, 12.0, 26.0, "decimal logarithm of the budget in operations", corners=(18.0, 25.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SeparableLaw:
        """Draw a floor, amplitudes and tokens on logarithmic scales. Either exponent may be the larger one."""
        keys = jax.random.split(key, 5)
        within = lambda key, low, high: jnp.exp(jax.random.uniform(key, minval=jnp.log(low), maxval=jnp.log(high)))
        exponents = setting["exponent"] * jnp.asarray([1.0, setting["ratio"]])
        compute = 10.0 ** setting["decades"] * within(keys[3], 0.3, 3.0)
        return SeparableLaw(
            floor=within(keys[0], 0.5, 3.0),
            amplitudes=jax.vmap(lambda key: within(key, 100.0, 1000.0))(jax.random.split(keys[1])),
            exponents=jnp.where(jax.random.bernoulli(keys[2]), exponents, exponents[::-1]),
            cost=jnp.asarray(6.0),
            compute=compute,
            served=jnp.sqrt(compute / 6) * within(keys[4], 0.3, 30.0),
        )

    def hypotheses(self, problem: SeparableLaw) -> list[Hypothesis]:
        return [
            Hypothesis(
                "A and B are positive",
                problem.amplitudes.min(),
                ">",
                0.0,
                "otherwise the loss does not depend on one of the two sizes",
            ),
            Hypothesis(
                "alpha and beta are positive", problem.exponents.min(), ">", 0.0, "both terms of the loss must fall"
            ),
        ]
