"""A transformer whose forward pass runs the Lasso (least squares with an l1 penalty).

The theory of Li et al. (key li2025incontext) is about a transformer whose weights are given by formulas, not trained.
Its input is a prompt: examples (x, y) and a query, whose y it predicts. The residual stream has one column for each of
these tokens. The residual stream has D = d + 2n + 7 rows, for inputs x of d columns and n features of x. The first
layer computes n features of every token (Attn0, FF0). Then two layers alternate: one takes a proximal gradient step on
the Lasso (Attn1, FF1), and the next one predicts (Attn2, FF2). Attn and FF are the attention and the feed-forward part
of a layer. The theory does not say whether training would find such weights. The computation leaves out entries that
stay zero.

The rows of the residual stream are, in order: x and a one (d+1), y, w (1 for examples, 0 for the query), the features
phi and a constant feature (n+1), the Lasso's coefficients rho (n+1), the penalty lambda, the prediction. The
accelerated transformer (FISTA) has n+1 more rows, called `last`, after rho. Then rho is the point at which the next
gradient is computed, and `last` is the last iterate of the coefficients.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError
from lemmata.functions import UniversalFeatures
from lemmata.solvers import momentum, soft_threshold

from ._in_context_checks import checked_prompt


def linearised(x: Float[Array, "*s"], temperature: Float[Array, ""], stable: bool) -> Float[Array, "*s"]:
    """Return 4 tau (sigma(x/tau) - 1/2), with the logistic function sigma. The result is about x - x³/(12 tau²).

    Attention with logistic functions computes products x of two numbers in this way, up to an error that a high
    temperature tau makes small.

    Args:
        x: any array.
        temperature: the temperature tau of attention.
        stable: whether to compute 2 tau tanh(x / (2 tau)), which is equal but has no cancellation.
    """
    if stable:
        return 2 * temperature * jnp.tanh(x / (2 * temperature))
    return 4 * temperature * (jax.nn.sigmoid(x / temperature) - 0.5)


class InContextTransformer(eqx.Module):
    """A transformer with L = 2T + 1 layers that predicts from examples by T proximal gradient steps on the Lasso.

    Args:
        features: the n features that FF0 computes, and a constant feature.
        penalty: the penalty lambda of the Lasso.
        step: the step size eta.
        temperature: the temperature tau of all attention layers. A large temperature makes logistic functions nearly
            linear.
        layers: the number L of layers, which is odd.
        examples: the number N of examples in a prompt, on which the weights of Attn2 depend.
        accelerated: whether to use momentum (FISTA), with D = d + 3n + 8 rows.
        as_printed: whether to leave out the factor N in Attn2. The weights are then those of the source, whose
            prediction is N times too small.
    """

    features: UniversalFeatures
    penalty: Float[Array, ""]
    step: Float[Array, ""]
    temperature: Float[Array, ""]
    layers: int = eqx.field(static=True)
    examples: int = eqx.field(static=True)
    accelerated: bool = eqx.field(static=True, default=False)
    as_printed: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if self.layers < 1 or self.layers % 2 == 0:
            raise SettingError(
                "layers", found=self.layers, rule="an odd number of at least 1, because each step adds two layers",
                remedy=f"set layers={max(1, self.layers + 1)}",
            )  # fmt: skip
        if self.examples < 2:
            raise SettingError("examples", found=self.examples, rule="at least 2")

    @property
    def iterations(self) -> int:
        """The number of proximal gradient steps, T = (L - 1) / 2."""
        return (self.layers - 1) // 2

    @property
    def rows(self) -> dict[str, slice]:
        """The rows of the residual stream that hold each quantity, by name."""
        d, p = self.features.omega.shape[1], len(self.features.thresholds) + 1
        names = {"x": d, "one": 1, "y": 1, "w": 1, "phi": p, "rho": p}
        names |= {"last": p} if self.accelerated else {}
        names |= {"penalty": 1, "prediction": 1}
        ends = np.cumsum(list(names.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(names.items(), ends, strict=True)}

    @property
    def width(self) -> int:
        """The number D of rows of the residual stream."""
        return self.rows["prediction"].stop

    def momenta(self) -> Float[Array, " t"]:
        """The momentum beta_t of each step. beta_t is 0 in the last step, and in every step without acceleration."""
        beta = momentum(self.iterations) if self.accelerated else jnp.zeros(self.iterations)
        return beta.at[-1:].set(0.0).astype(self.step.dtype)

    def tokens(self, x: Float[Array, "N d"], y: Float[Array, " N"], query: Float[Array, " d"]) -> Float[Array, "D T"]:
        """The first residual stream H(0): columns for the examples, then the query (li2025incontext, equation 57).

        For the query, y and w are 0.

        Args:
            x: inputs of the examples.
            y: targets of the examples.
            query: the input at which to predict.
        """
        rows, count = self.rows, len(y) + 1
        columns = jnp.zeros((self.width, count), x.dtype)
        columns = columns.at[rows["x"]].set(jnp.concatenate([x, query[None]]).T).at[rows["one"]].set(1.0)
        return columns.at[rows["y"], :-1].set(y).at[rows["w"], :-1].set(1.0)

    def __call__(
        self,
        x: Float[Array, "N d"],
        y: Float[Array, " N"],
        queries: Float[Array, "m d"],
        stable: bool = True,
    ) -> Float[Array, " m"]:
        """Predictions at the queries, by one forward pass for each. Only rows that change are computed.

        The memory is O((N + m) n) for N examples, m queries and n features.

        Args:
            x: inputs of the examples.
            y: targets of the examples.
            queries: the inputs at which to predict.
            stable: whether to compute logistic functions without cancellation.
        """
        return forward_steps(self, self.features(x), y, self.features(queries), stable, record=False)[1][0]

    def path(
        self,
        x: Float[Array, "N d"],
        y: Float[Array, " N"],
        queries: Float[Array, "m d"],
        stable: bool = True,
    ) -> tuple[Float[Array, "t p m"], Float[Array, "t m"]]:
        """The coefficients rho and the prediction after each of the T steps, for each of m queries.

        The memory is O((N + T m) n) for N examples and n features.

        Args:
            x: inputs of the examples.
            y: targets of the examples.
            queries: the inputs at which to predict.
            stable: whether to compute logistic functions without cancellation.
        """
        return forward_steps(self, self.features(x), y, self.features(queries), stable)

    def predict(self, x: Any, y: Any, queries: Any, stable: bool = True) -> Float[Array, " m"]:
        """Check the examples and queries of a user, and return the predictions at the queries.

        Args:
            x: inputs of the examples (N, d), in the unit ball.
            y: targets of the examples (N,).
            queries: the inputs (m, d) at which to predict, in the unit ball.
            stable: whether to compute logistic functions without cancellation.

        Raises:
            ShapeError: if a table has the wrong shape.
            DataError: for fewer than 2 examples, a value that is not a finite number, or a row outside the unit ball;
                the message names the row.
        """
        known = checked_prompt(x, y, queries, self.features.omega.shape[1], self.step.dtype)
        return self(*known, stable)


@eqx.filter_jit
def forward_steps(
    model: InContextTransformer,
    prompt: Float[Array, "N p"],
    y: Float[Array, " N"],
    asked: Float[Array, "m p"],
    stable: bool = True,
    record: bool = True,
) -> tuple[Float[Array, "t p m"], Float[Array, "t m"]]:
    """Run the layers after FF0. Return rho and the prediction after each step (li2025incontext, equations 118 and 124).

    Args:
        model: the transformer.
        prompt: features of the examples, one row for each example.
        y: targets of the examples.
        asked: features of the queries, one row for each query.
        stable: whether to compute logistic functions without cancellation.
        record: whether to return every step, instead of only the last step.
    """
    examples = len(y)
    linear = lambda z: linearised(z, model.temperature.astype(prompt.dtype), stable)
    step, level = model.step.astype(prompt.dtype), (model.step * model.penalty).astype(prompt.dtype)
    scale = 1 / examples if model.as_printed else model.examples / examples
    targets = linear(step * y)

    def block(state: tuple[Array, Array, Array], beta: Array) -> tuple[tuple[Array, Array, Array], Any]:
        # one row for each query, because products with a single row are as fast as with a vector
        ahead, last, predicted = state
        residual = targets - linear(step * (ahead @ prompt.T))
        query = linear(step * predicted) - linear(step * jnp.sum(asked * ahead, axis=1))
        moved = ahead + 2 / examples * (residual @ prompt + query[:, None] * asked)
        rho = soft_threshold(moved, level)
        following = rho + beta * (rho - last)
        predicted = (scale * linear(jnp.sum(asked * following, axis=1))).astype(prompt.dtype)
        return (following, rho, predicted), (rho.T, predicted) if record else None

    start = (jnp.zeros_like(asked), jnp.zeros_like(asked), jnp.zeros(len(asked), prompt.dtype))
    (_, rho, predicted), path = jax.lax.scan(block, start, model.momenta().astype(prompt.dtype))
    return path if record else (rho.T[None], predicted[None])
