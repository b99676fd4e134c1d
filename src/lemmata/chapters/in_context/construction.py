"""The transformer that runs the Lasso inside its forward pass, weight by weight, and the same numbers without zeros.

This theory controls a transformer that is written down, not trained: with D = d + 2n + 7 rows its layers compute n
features of every token (Attn0, FF0) and then repeat a step of proximal gradient (Attn1, FF1) and a prediction (Attn2,
FF2). It leaves unexplained whether training would find such weights.

Rows of the residual stream, in order: x and a one (d+1), y, w (1 for examples, 0 for the query), phi (n+1), rho
(n+1), lambda, the prediction. The accelerated transformer has n+1 more rows after rho: there rho is the point at which
the next gradient is taken, and the new rows hold the last iterate.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.errors import SettingError
from lemmata.networks import Head, TransformerLayer
from lemmata.solvers import momentum, soft_threshold

from ._checks import check_number, checked_prompt, refuse_silence
from ._checks import whole as whole
from .classes import AbstractFunctionClass
from .features import UniversalFeatures, sample_features


def linearised(x: Float[Array, "*s"], temperature: Float[Array, ""], stable: bool) -> Float[Array, "*s"]:
    """4 tau (sigma(x/tau) - 1/2), which is x up to x³/(12 tau²): how logistic attention computes a product.

    Args:
        x: any array.
        temperature: tau.
        stable: as 2 tau tanh(x / (2 tau)), equal but without cancellation.
    """
    if stable:
        return 2 * temperature * jnp.tanh(x / (2 * temperature))
    return 4 * temperature * (jax.nn.sigmoid(x / temperature) - 0.5)


class InContextTransformer(eqx.Module):
    """A transformer of L = 2T + 1 layers that predicts from examples by T steps of proximal gradient on the Lasso.

    Args:
        features: the n features of FF0.
        penalty: lambda of the Lasso.
        step: eta.
        temperature: tau of the attention layers, of each kind: large, so that logistic functions are linear.
        layers: L, odd.
        examples: N that the weights of Attn2 are built for.
        accelerated: with momentum (FISTA), in D = d + 3n + 8 rows.
        as_printed: Attn2 without the factor N: the source's weights, whose prediction is N times too small.
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
                "layers", found=self.layers, rule="odd and at least 1: two layers a step, and one before",
                remedy=f"layers={max(1, self.layers + 1)}",
            )  # fmt: skip
        if self.examples < 2:
            raise SettingError("examples", found=self.examples, rule="at least 2")

    @property
    def iterations(self) -> int:
        """T = (L - 1) / 2."""
        return (self.layers - 1) // 2

    @property
    def rows(self) -> dict[str, slice]:
        """Which rows of the residual stream hold what."""
        d, p = self.features.omega.shape[1], len(self.features.thresholds) + 1
        names = {"x": d, "one": 1, "y": 1, "w": 1, "phi": p, "rho": p}
        names |= {"last": p} if self.accelerated else {}
        names |= {"penalty": 1, "prediction": 1}
        ends = np.cumsum(list(names.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(names.items(), ends, strict=True)}

    @property
    def width(self) -> int:
        """D."""
        return self.rows["prediction"].stop

    def momenta(self) -> Float[Array, " t"]:
        """beta_t of each step: 0 where not accelerated, and in the last step, whose prediction is read out."""
        beta = momentum(self.iterations) if self.accelerated else jnp.zeros(self.iterations)
        return beta.at[-1:].set(0.0).astype(self.step.dtype)

    def tokens(self, x: Float[Array, "N d"], y: Float[Array, " N"], query: Float[Array, " d"]) -> Float[Array, "D T"]:
        """H(0): examples as columns, then the query with y = w = 0 (li2025incontext, equation 57).

        Args:
            x: inputs of the examples.
            y: their targets.
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
        """Predictions at the queries: the forward pass for each, of which only the rows that change are computed.

        Memory O((N + m) n).

        Args:
            x: inputs of the examples.
            y: their targets.
            queries: where to predict.
            stable: logistic functions without cancellation.
        """
        return forward_steps(self, self.features(x), y, self.features(queries), stable, record=False)[1][0]

    def path(
        self,
        x: Float[Array, "N d"],
        y: Float[Array, " N"],
        queries: Float[Array, "m d"],
        stable: bool = True,
    ) -> tuple[Float[Array, "t p m"], Float[Array, "t m"]]:
        """rho after each of the T steps, and the prediction, for each query; memory O((N + T m) n).

        Args:
            x: inputs of the examples.
            y: their targets.
            queries: where to predict.
            stable: logistic functions without cancellation.
        """
        return forward_steps(self, self.features(x), y, self.features(queries), stable)

    def predict(self, x: Any, y: Any, queries: Any, stable: bool = True) -> Float[Array, " m"]:
        """The same for tables from a user, which are checked first.

        Args:
            x: inputs of the examples (N, d), in the unit ball.
            y: their targets (N,).
            queries: where to predict (m, d), in the unit ball.
            stable: logistic functions without cancellation.

        Raises:
            ShapeError: a table of another shape.
            DataError: fewer than 2 examples, a value that is no finite number, a row outside the unit ball; names it.
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
    """The layers after FF0 on given features: rho after each step, and the prediction (li2025incontext, 118 and 124).

    Args:
        model: the transformer.
        prompt: features of the examples.
        y: their targets.
        asked: features of the queries.
        stable: logistic functions without cancellation.
        record: every step; otherwise the last alone.
    """
    examples = len(y)
    linear = lambda z: linearised(z, model.temperature.astype(prompt.dtype), stable)
    step, level = model.step.astype(prompt.dtype), (model.step * model.penalty).astype(prompt.dtype)
    scale = 1 / examples if model.as_printed else model.examples / examples
    targets = linear(step * y)

    def block(state: tuple[Array, Array, Array], beta: Array) -> tuple[tuple[Array, Array, Array], Any]:
        ahead, last, predicted = state  # one row a query: products with a single row are as fast as with a vector
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


def weights(model: InContextTransformer) -> list[TransformerLayer]:
    """The L layers as explicit D x D matrices (li2025incontext, A.4.3); blocks without momentum share theirs.

    The source lists three of the four heads of Attn1; the fourth, -V_1 with Q = K = 0, takes away sigma(0).

    Args:
        model: the transformer.

    Example:
        >>> import jax
        >>> from lemmata.chapters.in_context.classes import GaussianBumps
        >>> from lemmata.chapters.in_context.construction import construct_transformer, weights
        >>> model = construct_transformer(GaussianBumps(2), 5, 7, examples=20, key=jax.random.key(0))
        >>> len(weights(model)), weights(model)[0].inner.shape
        (7, (19, 19))
    """
    first = TransformerLayer((), *_feature_map(model))
    gradient = TransformerLayer(_gradient_heads(model), *_threshold(model))
    blocks: list[TransformerLayer] = []
    shared: dict[float, TransformerLayer] = {}
    for beta in model.momenta().tolist():
        if beta not in shared:
            shared[beta] = TransformerLayer(_prediction_heads(model, beta), *_extrapolation(model, beta))
        blocks += [gradient, shared[beta]]
    return [first, *blocks]


def _stored(model: InContextTransformer, matrix: np.ndarray) -> Array:
    return jnp.asarray(matrix, model.step.dtype)


def _zeros(model: InContextTransformer) -> np.ndarray:
    return np.zeros((model.width, model.width), model.step.dtype)


def _feature_map(model: InContextTransformer) -> tuple[Array, Array]:
    """FF0: the features as differences of two ramps, the constant and lambda (equations 107 and 116)."""
    rows, inner, outer = model.rows, _zeros(model), _zeros(model)
    features, one = model.features, model.rows["one"].start
    p = len(features.thresholds) + 1
    for offset, shift, sign in ((0, 0.5, 1.0), (p, -0.5, -1.0)):
        units = slice(offset, offset + p - 1)
        inner[units, rows["x"]] = features.sharpness * features.directions
        inner[units, one] = -features.sharpness * features.thresholds + shift
        inner[offset + p - 1, one] = sign
        outer[rows["phi"], offset : offset + p] = sign * np.eye(p)
    inner[2 * p, one] = float(model.penalty)
    outer[rows["penalty"], 2 * p] = 1.0
    return _stored(model, inner), _stored(model, outer)


def _gradient_heads(model: InContextTransformer) -> tuple[Head, ...]:
    """Attn1: targets, minus predictions, plus the query's own prediction, minus sigma(0) (equation 118)."""
    rows, p = model.rows, len(model.features.thresholds) + 1
    scaled, one = float(model.step / model.temperature), rows["one"].start
    value = _zeros(model)
    value[rows["rho"], rows["phi"]] = 8 * float(model.temperature) * np.eye(p)
    queries, keys = [_zeros(model) for _ in range(4)], [_zeros(model) for _ in range(4)]
    queries[0][0, rows["y"]], keys[0][0, one] = scaled, 1.0
    queries[1][:p, rows["phi"]], keys[1][:p, rows["rho"]] = scaled * np.eye(p), np.eye(p)
    queries[2][0, one], queries[2][0, rows["w"]], keys[2][0, rows["prediction"]] = scaled, -scaled, 1.0
    signs = (1.0, -1.0, 1.0, -1.0)
    parts = zip(queries, keys, signs, strict=True)
    return tuple(Head(*(_stored(model, part) for part in (query, key, sign * value))) for query, key, sign in parts)


def _threshold(model: InContextTransformer) -> tuple[Array, Array]:
    """FF1: the soft threshold of rho, and the prediction back to 0 (equations 121 and 122)."""
    rows, p = model.rows, len(model.features.thresholds) + 1
    inner, outer, step = _zeros(model), _zeros(model), float(model.step)
    inner[:p, rows["rho"]] = inner[p : 2 * p, rows["rho"]] = np.eye(p)
    inner[:p, rows["penalty"]], inner[p : 2 * p, rows["penalty"]] = step, -step
    inner[2 * p, rows["penalty"]] = step
    inner[2 * p + 1, rows["prediction"]], inner[2 * p + 2, rows["prediction"]] = 1.0, -1.0
    outer[rows["rho"], :p], outer[rows["rho"], p : 2 * p], outer[rows["rho"], 2 * p] = -np.eye(p), np.eye(p), 1.0
    outer[rows["prediction"], 2 * p + 1], outer[rows["prediction"], 2 * p + 2] = -1.0, 1.0
    return _stored(model, inner), _stored(model, outer)


def _prediction_heads(model: InContextTransformer, beta: float) -> tuple[Head, ...]:
    """Attn2: the query's prediction at rho + beta (rho - last), 4 tau N in the place of the printed 4 tau (124)."""
    rows, p = model.rows, len(model.features.thresholds) + 1
    query, key, value, temperature = _zeros(model), _zeros(model), _zeros(model), float(model.temperature)
    factor = 4 * temperature * (1 if model.as_printed else model.examples)
    value[rows["prediction"], rows["one"]], value[rows["prediction"], rows["w"]] = factor, -factor
    query[:p, rows["phi"]] = np.eye(p) / temperature
    key[:p, rows["rho"]] = (1 + beta) * np.eye(p)
    if model.accelerated:
        key[:p, rows["last"]] = -beta * np.eye(p)
    heads = ((query, key, value), (_zeros(model), _zeros(model), -value))
    return tuple(Head(*(_stored(model, part) for part in head)) for head in heads)


def _extrapolation(model: InContextTransformer, beta: float) -> tuple[Array, Array]:
    """FF2: nothing; with momentum, rho <- rho + beta (rho - last) and last <- rho."""
    inner, outer = _zeros(model), _zeros(model)
    if model.accelerated:
        rows, p = model.rows, len(model.features.thresholds) + 1
        for units, sign in ((slice(0, p), 1.0), (slice(p, 2 * p), -1.0)):
            inner[units, rows["rho"]], inner[units, rows["last"]] = sign * np.eye(p), -sign * np.eye(p)
            outer[rows["rho"], units], outer[rows["last"], units] = beta * sign * np.eye(p), sign * np.eye(p)
    return _stored(model, inner), _stored(model, outer)


def construct_transformer(
    functions: AbstractFunctionClass,
    number: int,
    layers: int,
    *,
    examples: int,
    key: Key[Array, ""],
    penalty: float | Array = 0.01,
    temperature: float | Array | None = None,
    sharpness: float | Array = 16.0,
    step: float | Array | None = None,
    accelerated: bool = False,
    as_printed: bool = False,
    dtype: Any = float,
) -> InContextTransformer:
    """The transformer of Lemma 4 for a class of functions: its weights depend on the class alone.

    Args:
        functions: the class.
        number: n features.
        layers: L = 2T + 1.
        examples: N.
        key: randomness of the features.
        penalty: lambda.
        temperature: tau; None is 10^4 in float64, near the best for the form that cancels, and (6 eps)^(-1/3) in
            types with fewer digits.
        sharpness: tau of the features, 1/sqrt(epsilon) in the source.
        step: eta; None is 1/(2(n + 1)), the largest at which the source's proof holds (it writes 1/(2n)).
        accelerated: with momentum.
        as_printed: without the factor N in Attn2.
        dtype: of the weights.

    Raises:
        SettingError: fewer than 1 feature, an even number of layers, fewer than 2 examples, a temperature, sharpness or
            step that is not positive and finite in this type, a negative or infinite penalty, a class of infinite
            Barron parameter, or a temperature at which all targets up to that parameter are rounded to 0.
    """
    sizes = {"number of features": number, "layers": layers, "examples": examples}
    number, layers, examples = (whole(name, value) for name, value in sizes.items())
    if number < 1:
        raise SettingError("number of features", found=number, rule="at least 1")
    cast = lambda value: jnp.asarray(value, dtype)
    for name, value in {"temperature": temperature, "sharpness": sharpness, "step": step}.items():
        check_number(name, value, cast, positive=True)
    check_number("penalty", penalty, cast, positive=False)
    cost = float(functions.offset() + functions.moment())
    if not np.isfinite(cost):
        raise SettingError("the class of functions", found=f"C_F = {cost}", rule="a finite Barron parameter",
                           remedy="a spectrum with a finite first moment")  # fmt: skip
    eta, eps = 1 / (2 * (number + 1)) if step is None else float(step), float(jnp.finfo(cast(0.0).dtype).eps)
    tau = min(1e4, (6 * eps) ** (-1 / 3)) if temperature is None else float(temperature)
    refuse_silence(tau, 2 * eta * cost / eps)
    features = jax.tree.map(cast, sample_features(key, functions, number, sharpness))
    return InContextTransformer(
        features, cast(penalty), cast(eta), cast(tau), layers, examples, accelerated, as_printed
    )
