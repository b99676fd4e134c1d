"""The accelerated transformer: the same layers with momentum in Attn2 and FF2, and what it saves in depth.

This theory controls a transformer of D = d + 3n + 8 rows that runs accelerated proximal gradient (FISTA), whose
objective falls as 1/T² in the place of 1/T. It assumes eta <= 1/(2 lambda_max(Phi^T Phi)/N) and weights of Attn2 and
FF2 that change from block to block; it leaves unexplained how the risk depends on the objective along the way. The
construction goes beyond the source, whose depth enters its risk as n C_F² / L.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Control, Equal, Hypothesis, Integer, Order, Rate, Real, Source, Space
from lemmata.problems._prompts import FAMILY, Prompt, sampled_prompt
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, momentum, proximal_gradient

from ._errors import AbstractErrorClaim
from ._passes import AbstractDenseClaim, dense_tokens, intended_tokens

DEPTHS = (8.0, 16.0, 32.0, 64.0)
# worth_of_steps at these depths
WORTH = (13.738822615, 44.071091179, 153.918874103, 568.144832241)
_LONGEST = 1024


def worth_of_steps(iterations: int) -> Float[Array, " t"]:
    """c_1, ..., c_T: how many plain steps T accelerated steps are worth where the objective is flat.

    Along an eigenvector of small curvature h / eta, a plain step takes away a share h of the distance from the
    minimum, and T accelerated steps c_T h, to first order in h: c_{k+1} = 1 + c_k + beta_k (c_k - c_{k-1}), about T²/8.

    Args:
        iterations: T.

    Example:
        >>> from lemmata.chapters.in_context.accelerated_transformer import worth_of_steps
        >>> [round(float(worth)) for worth in worth_of_steps(64)[jnp.array([7, 15, 31, 63])]]
        [14, 44, 154, 568]
    """

    def longer(state: tuple[Array, Array], beta: Array) -> tuple[tuple[Array, Array], Array]:
        before, worth = state
        following = 1 + worth + beta * (worth - before)
        return (worth, following), following

    betas = momentum(iterations)[: iterations - 1]
    one = jnp.ones((), betas.dtype)
    return jnp.append(one, jax.lax.scan(longer, (0 * one, one), betas)[1])


def steps_to(values: Float[Array, " t"], level: Float[Array, ""]) -> Float[Array, ""]:
    """The first index, interpolated in the logarithm, at which positive values reach a level; the last if none does.

    Args:
        values: one for every step, the first before any.
        level: the level.
    """
    after = jnp.where((values <= level).any(), jnp.argmax(values <= level), len(values) - 1)
    before = jnp.maximum(after - 1, 0)
    logs = jnp.log(jnp.maximum(jnp.stack([values[before], values[after], level]), 1e-300))
    fall = jnp.maximum(logs[0] - logs[1], 1e-300)
    return before + jnp.clip((logs[0] - logs[2]) / fall, 0.0, 1.0)


def layers_saved(
    features: Float[Array, "N p"],
    y: Float[Array, " N"],
    penalty: Float[Array, ""] | float,
    step: Float[Array, ""] | float,
    iterations: int,
    longest: int = _LONGEST,
) -> Float[Array, ""]:
    """How many layers fewer the accelerated transformer has than the plain one of the same objective.

    Two layers a step, and plain steps until the objective is that of the accelerated method after T.

    Args:
        features: Phi, one row an example.
        y: targets.
        penalty: lambda.
        step: eta.
        iterations: T.
        longest: how many plain steps are tried.
    """
    gaps = _gaps(features, y, penalty, step, longest)
    return 2 * (steps_to(gaps[0], gaps[1][iterations]) - iterations)


def _gaps(features: Array, y: Array, penalty: Array | float, step: Array | float, longest: int) -> Array:
    """Objectives of the plain and the accelerated path above the least of both, with a step more than `longest`."""
    paths = jnp.stack(
        [method(features, y, penalty, step, longest) for method in (proximal_gradient, accelerated_proximal_gradient)]
    )
    found = lasso_objective(features, y, penalty, paths)
    return found - found.min()


class AcceleratedWeightsExecuteTheSteps(AbstractDenseClaim):
    """The D x D matrices with momentum, D = d + 3n + 8, leave in the tokens

        H(2t): rho_t, the iterate before it, and 0;   H(2t+1): rho_t + beta_t (rho_t - rho_{t-1}), rho_t, and the
        prediction there,

    for t = 1, ..., T, in every column and with all other rows unchanged. Only Attn2 and FF2 depend on t.
    """

    title = "The weights of the accelerated transformer execute the intended steps"
    source = Source("beck2009fista", "(4.1)", "(4.2)", "(4.3)", note="as layers of a transformer")
    controls = "the tokens of the accelerated transformer, row by row"
    accelerated = True
    depth = 7  # momentum begins with the second step and is left out of the last

    def predict(self, problem: Prompt) -> Array:
        """The intended tokens."""
        return intended_tokens(problem)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The tokens of the dense pass."""
        return dense_tokens(problem)

    def control(self) -> Control:
        """Momentum that is not taken."""

        def plain(tokens: Array, problem: Prompt) -> Array:
            rows = problem.model.rows
            return tokens.at[3::2, rows["rho"]].set(tokens[3::2, rows["last"]])

        return Control("rho is not moved ahead", plain)


class AbstractDepthClaim(AbstractErrorClaim):
    """Statements about the accelerated method on the Lasso of a prompt."""

    controls = "the objective along accelerated proximal gradient"
    unexplained = "how the risk depends on the objective"

    def settings(self) -> Space:
        """Sizes, the class and lambda."""
        return Space(
            n=Integer(16, 2, 64, "features"),
            examples=Integer(64, 2, 128, "examples"),
            penalty=Real(0.01, 1e-5, 1.0, "lambda"),
            family=FAMILY,
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A function of the class, noise, and 32 queries."""
        return sampled_prompt(
            key, family=setting["family"], n=setting["n"], examples=setting["examples"], queries=32, layers=17,
            penalty=setting["penalty"], temperature=1e9, accelerated=True,
        )  # fmt: skip

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """A step that is short enough: lambda_max(Phi^T Phi)/N is at most the largest |phi_i|²."""
        curvature = 2 * problem.model.step * jnp.max(jnp.sum(problem.prompt**2, axis=1))
        return [Hypothesis("the step is at most 1/(2 lambda_max)", curvature, "<=", 1 + 1e-12, "2 eta |phi|²")]

    def gaps(self, problem: Prompt, longest: int = _LONGEST) -> Array:
        """Objectives of the plain and the accelerated path, above the least."""
        return _gaps(problem.prompt, problem.y, problem.model.penalty, problem.model.step, longest)


class AcceleratedPassIsFista(AbstractDepthClaim):
    """In the limit of high temperature the iterates of the accelerated transformer are those of FISTA,

        rho_t = ST(v_t + (2 eta / N) Phi^T (y - Phi v_t)),   v_{t+1} = rho_t + beta_t (rho_t - rho_{t-1}),

    beta_t = (s_t - 1)/s_{t+1}, s_1 = 1, s_{t+1} = (1 + sqrt(1 + 4 s_t²))/2. At 10^9, truncation is below rounding.
    """

    title = "The accelerated transformer runs FISTA"
    source = Source("beck2009fista", "(4.1)", "(4.2)", "(4.3)")
    relation = Equal()
    label = "identity"
    controls = "the iterates of the accelerated transformer"

    def predict(self, problem: Prompt) -> Array:
        """The iterates of the solver, for every query."""
        model = problem.model
        path = accelerated_proximal_gradient(problem.prompt, problem.y, model.penalty, model.step, model.iterations)
        return jnp.repeat(path[1:, :, None], len(problem.queries), axis=2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The iterates of the pass."""
        return problem.model.path(problem.x, problem.y, problem.queries)[0]

    def condition(self, problem: Prompt) -> Array:
        """A step with momentum enlarges distances of p entries at most by 3."""
        model = problem.model
        return jnp.asarray(3.0**model.iterations * (len(model.features.thresholds) + 1))

    def control(self) -> Control:
        """The other method."""

        def plain(found: Array, problem: Prompt) -> Array:
            model = problem.model
            path = proximal_gradient(problem.prompt, problem.y, model.penalty, model.step, model.iterations)
            return jnp.repeat(path[1:, :, None], len(problem.queries), axis=2)

        return Control("the iterates of plain proximal gradient", plain)


class ObjectiveOfFista(AbstractDepthClaim):
    """The objective of the accelerated method after T steps, above its value at any rho, is at most

        2 |rho|_2² / (eta (T + 1)²),

    here for T = 8, 16, 32, 64 and the minimiser, found by 1024 steps.
    """

    title = "The objective of the accelerated transformer"
    source = Source("beck2009fista", "Theorem 4.4")

    def predict(self, problem: Prompt) -> Array:
        """The bound at each depth."""
        model = problem.model
        end = accelerated_proximal_gradient(problem.prompt, problem.y, model.penalty, model.step, _LONGEST)[-1]
        return 2 * jnp.sum(end**2) / (model.step * (jnp.asarray(DEPTHS) + 1) ** 2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The objective above its least value."""
        return self.gaps(problem)[1][jnp.asarray(DEPTHS, int)]

    def control(self) -> Control:
        """Beyond what the flat directions allow."""
        return Control("an eighth of the bound", lambda bound, problem: bound / 8)


class ObjectiveFallsWithTheSquare(AbstractDepthClaim):
    """The objective of the accelerated method, above its least value, falls at least as fast as (T + 1)^-2."""

    title = "The objective falls with the square of the depth"
    source = Source("beck2009fista", "Theorem 4.4", note="the rate")
    relation = Rate("T + 1", tuple(depth + 1 for depth in DEPTHS), upper=True)
    label = "rate"
    trials = 64
    batch = 64

    def predict(self, problem: Prompt) -> Array:
        """The exponent."""
        return jnp.asarray(-2.0)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The objective above its least value."""
        return self.gaps(problem)[1][jnp.asarray(DEPTHS, int)]

    def control(self) -> Control:
        """Faster than it is."""
        return Control("with the fourth power", lambda exponent, problem: exponent - 2)


class StepsThatAreSaved(AbstractDepthClaim):
    """T accelerated steps reach the objective of a number of plain ones that grows in proportion to c_T,

        c_{k+1} = 1 + c_k + beta_k (c_k - c_{k-1}) ~ T²/8,   c_0 = 0, c_1 = 1,

    here for T = 8, 16, 32, 64, so that about 2 (c_T - T) layers are saved. Both numbers are equal in directions in
    which the objective is flat; over all directions they differ by a few per cent.
    """

    title = "Layers that acceleration saves at equal objective"
    source = Source("beck2009fista", "Theorem 4.4", "Theorem 3.1", note="for flat directions")
    relation = Rate("c_T", WORTH)
    label = "rate"
    controls = "the number of plain steps that reach the objective of T accelerated ones"
    trials = 64
    batch = 64

    def predict(self, problem: Prompt) -> Array:
        """In proportion."""
        return jnp.asarray(1.0)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The steps of the plain method."""
        plain, fast = self.gaps(problem)
        return jnp.stack([steps_to(plain, fast[int(depth)]) for depth in DEPTHS])

    def control(self) -> Control:
        """c_T itself grows as T^1.8 from 8 to 64."""
        return Control("as T^(3/2)", lambda exponent, problem: 1.5 / 1.8 * exponent)


class LayersToEqualRisk(AbstractDepthClaim):
    """With momentum the transformer needs fewer layers, in the mean, until its risk is within a tenth of the risk of
    the Lasso: squared differences to the function at 32 queries, layers counted up to 2049.
    """

    title = "Layers that acceleration saves at equal risk"
    source = Source("beck2009fista", "Theorem 4.4", note="for the risk of a transformer")
    relation = Order("momentum", (0.0, 1.0))
    label = "rate"
    controls = "the layers until the risk is near that of the Lasso"
    trials = 64
    batch = 64

    def predict(self, problem: Prompt) -> Array:
        """Fewer."""
        return jnp.asarray(-1.0)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """2 t + 1 at the first step t of that risk, for both methods."""
        model, targets = problem.model, problem.function(problem.queries)
        asked = model.features(problem.queries).T
        methods = (proximal_gradient, accelerated_proximal_gradient)
        paths = jnp.stack([each(problem.prompt, problem.y, model.penalty, model.step, _LONGEST) for each in methods])
        risks = jnp.mean((paths @ asked - targets) ** 2, axis=2)
        reached = risks <= 1.1 * risks[1, -1]
        return 2.0 * jnp.where(reached.any(axis=1), jnp.argmax(reached, axis=1), _LONGEST) + 1

    def control(self) -> Control:
        """The other way round."""
        return Control("more layers", lambda sign, problem: -sign)
