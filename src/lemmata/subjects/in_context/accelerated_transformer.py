"""The accelerated transformer: the layers with momentum in Attn2 and FF2, and how many layers momentum saves.

The transformer has tokens of D = d + 3n + 8 entries for d inputs and n features. Each block of two layers has the
attentions Attn1 and Attn2, and the feed-forward maps FF1 and FF2. It runs T steps of accelerated proximal gradient
(FISTA) on the Lasso. The excess of the Lasso objective over its minimum falls like 1/T² instead of 1/T. Let Phi be the
features of N examples. The theory assumes a step eta <= 1/(2 lambda_max(Phi^T Phi)/N), and weights of Attn2 and FF2
that change from block to block. It leaves open how the risk depends on the objective along the way. The construction is
not in the source (li2025incontext). In the source, the number L of layers enters the risk as n C_F² / L.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Order, Rate, Source
from lemmata.engine.problems.prompts import Prompt
from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, momentum, proximal_gradient
from lemmata.subjects.in_context._forward_passes import DensePasses, MomentumPasses, sizes_of

from ._passes import dense_rounding, dense_tokens, intended_tokens

ABOUT = {
    "tool": "convex optimisation",
    "architecture": "transformer in context",
    "object": "construction",
    "problem": 2,
}

DEPTHS = (8.0, 16.0, 32.0, 64.0)
# worth_of_steps at these depths
WORTH = (13.738822615, 44.071091179, 153.918874103, 568.144832241)
LONGEST = 1024


def worth_of_steps(iterations: int) -> Float[Array, " t"]:
    """Return c_1, ..., c_T: in flat directions of the objective, t accelerated steps are worth c_t plain steps.

    Consider an eigenvector along which the objective has the small curvature h / eta, where eta is the step size. A
    plain step removes a share h of the distance from the minimum along this eigenvector. To first order in h, T
    accelerated steps remove a share c_T h. Here c_{k+1} = 1 + c_k + beta_k (c_k - c_{k-1}), where beta_k are the
    momenta of FISTA, and c_T is about T²/8.

    Args:
        iterations: the number of accelerated steps T.

    Example:
        >>> from lemmata.subjects.in_context.accelerated_transformer import worth_of_steps
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
    """Return the index at which values first fall to a level, or the last index if they never do.

    The index is interpolated in the logarithms of the values, so it need not be a whole number.

    Args:
        values: positive values, the first before any step, and one after each step.
        level: the level that is reached.
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
    longest: int = LONGEST,
) -> Float[Array, ""]:
    """Return how many layers the accelerated transformer saves against the plain one at the same objective.

    Each saved step saves two layers. The number of saved steps is the number of plain steps that reach the objective
    of T accelerated steps, minus T.

    Args:
        features: the features Phi, one row per example.
        y: the targets, one per example.
        penalty: the penalty lambda of the Lasso.
        step: the step size eta.
        iterations: the number of accelerated steps T.
        longest: the largest number of plain steps that is tried.
    """
    gaps = gaps_along(features, y, penalty, step, longest)
    return 2 * (steps_to(gaps[0], gaps[1][iterations]) - iterations)


def gaps_along(features: Array, y: Array, penalty: Array | float, step: Array | float, longest: int) -> Array:
    """Return by how much the Lasso objectives of the plain and the accelerated path exceed their common minimum.

    The values are those after 0, ..., `longest` steps.
    """
    paths = jnp.stack(
        [method(features, y, penalty, step, longest) for method in (proximal_gradient, accelerated_proximal_gradient)]
    )
    found = lasso_objective(features, y, penalty, paths)
    return found - found.min()


def not_moved_ahead(tokens: Array, problem: Prompt) -> Array:
    """Return false tokens, for a control: without momentum, so that the row rho holds the last iterate itself."""
    rows = problem.model.rows
    return tokens.at[3::2, rows["rho"]].set(tokens[3::2, rows["last"]])


class AcceleratedWeightsExecuteTheSteps(Claim[Prompt]):
    """Let rho_1, ..., rho_T be the iterates of accelerated proximal gradient (FISTA) on the Lasso, where logistic
    functions at a temperature replace products. Let beta_t be the momentum of step t, with beta_T = 0 in the last step.
    A transformer for d inputs and n features is built to take these T steps, with two layers for each step. Its
    matrices are D x D, where D = d + 3n + 8. Apply these matrices layer by layer to the tokens of a prompt, and let
    H(l) be the tokens after layer l. Three blocks of rows of H(l) hold, in this order, the coefficients, the previous
    coefficients and a prediction. For t = 1, ..., T, the values in these blocks are

        H(2t): rho_t, the iterate before it, and 0;   H(2t+1): rho_t + beta_t (rho_t - rho_{t-1}), rho_t, and the
        prediction there.

    Every column of H(l) holds these values, and all other rows of H(l) are unchanged. Only the matrices of every second
    layer (attention Attn2 and feed-forward map FF2) depend on t.
    """

    title = "The matrices of a transformer with momentum execute accelerated proximal gradient on the Lasso"
    source = Source("beck2009fista", "(4.1)", "(4.2)", "(4.3)", note="as layers of a transformer")
    population = DensePasses(layers=7, accelerated=True)  # momentum is left out of the first step and of the last
    # every H(l) has entries of 1, and `dense_rounding` is an absolute error relative to these
    relation = Equal(block=2)
    control = Control(
        "the coefficients are the last iterate, without momentum",
        not_moved_ahead,
        loose="all other rows of the tokens stay correct",
    )
    controls = "the tokens of the accelerated transformer, row by row"
    unexplained = "whether training finds these weights"
    stated = Kind.OWN
    traced = False

    def predict(self, problem: Prompt) -> Array:
        return intended_tokens(problem)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return dense_tokens(problem)

    def condition(self, problem: Prompt) -> Array:
        return dense_rounding(problem, problem.model.iterations, accelerated=True)


OBJECTIVE, RISK = "the objective along accelerated proximal gradient", "how the risk depends on the objective"


def gaps_of(problem: Prompt) -> Array:
    """Return `gaps_along` for a prompt with its targets, penalty and step size."""
    return gaps_along(problem.prompt, problem.y, problem.model.penalty, problem.model.step, LONGEST)


def iterates(method: Callable[..., Array], problem: Prompt) -> Array:
    """Return the iterates of a solver after 1, ..., T steps, which are the same for every query."""
    model = problem.model
    path = method(problem.prompt, problem.y, model.penalty, model.step, model.iterations)
    return jnp.repeat(path[1:, :, None], len(problem.queries), axis=2)


class AcceleratedPassIsFista(Claim[Prompt]):
    """A transformer is built to take steps of FISTA (accelerated proximal gradient) on the Lasso. It computes products
    by logistic functions (sigmoids) at a temperature. Let a prompt have N examples with features Phi and targets y. Let
    eta be the step, let lambda be the penalty of the Lasso, and let ST be the soft threshold at eta lambda. Let s_1 =
    1, s_{t+1} = (1 + sqrt(1 + 4 s_t²))/2 and beta_t = (s_t - 1)/s_{t+1}. In the limit of high temperature, the
    coefficients rho_t of this transformer are the iterates of FISTA from rho_0 = v_1 = 0,

        rho_t = ST(v_t + (2 eta / N) Phi^T (y - Phi v_t)),   v_{t+1} = rho_t + beta_t (rho_t - rho_{t-1}).

    The test uses the temperature 10^9, at which the truncation error is below the rounding error.
    """

    title = "In the limit of high temperature of its sigmoids, a transformer with momentum runs FISTA on the Lasso"
    source = Source("beck2009fista", "(4.1)", "(4.2)", "(4.3)")
    population = MomentumPasses()
    relation = Equal(block=2)  # the coefficients of a step are sums whose terms cancel
    control = Control(
        "the iterates are those of plain proximal gradient",
        lambda found, problem: iterates(proximal_gradient, problem),
        loose="the first iterate is the same",
    )
    controls = "the iterates of the accelerated transformer"
    unexplained = RISK
    stated = Kind.OWN

    def predict(self, problem: Prompt) -> Array:
        return iterates(accelerated_proximal_gradient, problem)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return problem.model.path(problem.x, problem.y, problem.queries)[0]

    def condition(self, problem: Prompt) -> Array:
        """The condition number: a step with momentum enlarges distances by a factor of at most 3."""
        n, _, _ = sizes_of(problem)
        return jnp.asarray(3.0**problem.model.iterations * (n + 1))


_SHARP = DEPTHS[1:3]


class ObjectiveOfFista(Claim[Prompt]):
    """Let accelerated proximal gradient (FISTA) with the step eta start at 0 on the Lasso. After T steps, the objective
    exceeds its value at any coefficients rho by at most

        2 |rho|_2² / (eta (T + 1)²).

    The test uses T = 16 and 32, and takes for rho the minimiser that 1024 steps find. For T = 8 the bound is above the
    excess of the objective at the start, and for T = 64 the bound is loose.
    """

    title = "After T accelerated proximal gradient (FISTA) steps, the Lasso objective exceeds its minimum by O(1/T²)"
    source = Source("beck2009fista", "Theorem 4.4")
    population = MomentumPasses(penalty=0.03, n=24)  # where the bound is tightest at some depth
    relation = AtMost()
    control = Control("a quarter of this bound is enough", lambda bound, problem: bound / 4)
    controls = OBJECTIVE
    unexplained = RISK

    def predict(self, problem: Prompt) -> Array:
        model = problem.model
        end = accelerated_proximal_gradient(problem.prompt, problem.y, model.penalty, model.step, LONGEST)[-1]
        return 2 * jnp.sum(end**2) / (model.step * (jnp.asarray(_SHARP) + 1) ** 2)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return gaps_of(problem)[1][jnp.asarray(_SHARP, int)]

    def trivial(self, problem: Prompt) -> Array:
        """Return by how much the objective at coefficients 0 exceeds its least value."""
        return jnp.full(len(_SHARP), gaps_of(problem)[1][0])


class ObjectiveFallsWithTheSquare(Claim[Prompt]):
    """Let accelerated proximal gradient (FISTA) take T steps on the Lasso. The difference between the objective after
    these steps and its smallest value falls at least as fast as

        C (T + 1)^-2,

    where C is a constant that does not depend on T.
    """

    title = "After T accelerated proximal gradient steps, the excess Lasso objective falls at least like (T + 1)^-2"
    source = Source("beck2009fista", "Theorem 4.4", note="the rate")
    population = MomentumPasses(penalty=0.002)  # flat enough for the rate not to be better than stated
    relation = Rate("T + 1", tuple(depth + 1 for depth in DEPTHS), upper=True)
    control = Control("the difference falls like (T + 1)^(-5/2)", lambda exponent, problem: exponent - 0.5)
    controls = OBJECTIVE
    unexplained = RISK
    trials = 128
    predict = -2.0

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        return gaps_of(problem)[1][jnp.asarray(DEPTHS, int)]


class StepsThatAreSaved(Claim[Prompt]):
    """Let beta_k be the momenta of FISTA (accelerated proximal gradient). Let c_0 = 0, let c_1 = 1, and let

        c_{k+1} = 1 + c_k + beta_k (c_k - c_{k-1}),

    so that c_T ~ T²/8. Count the plain proximal gradient steps that reach the same Lasso objective as T accelerated
    steps. As T grows, this number of plain steps is proportional to c_T. In directions in which the objective is flat,
    the number of plain steps equals c_T. Over all directions, it differs from c_T by a few per cent. In a transformer,
    each step takes two layers, so acceleration saves about 2 (c_T - T) layers. The test uses T = 8, 16, 32 and 64.
    """

    title = "T accelerated steps reach the Lasso objective of about T²/8 plain proximal gradient steps"
    source = Source("beck2009fista", "Theorem 4.4", "Theorem 3.1", note="for flat directions")
    population = MomentumPasses()
    relation = Rate("c_T", WORTH, resolution=0.08)
    # c_T itself grows as T^1.8 from 8 to 64.
    control = Control("the number of plain steps grows like T^(3/2)", lambda exponent, problem: 1.5 / 1.8 * exponent)
    controls = "the number of plain steps that reach the objective of T accelerated steps"
    unexplained = RISK
    stated = Kind.OWN
    trials = 64
    predict = 1.0

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        plain, fast = gaps_of(problem)
        return jnp.stack([steps_to(plain, fast[int(depth)]) for depth in DEPTHS])


class LayersToEqualRisk(Claim[Prompt]):
    """Two transformers are built to solve the Lasso over features of a prompt's examples. One takes steps of proximal
    gradient, and the other takes steps with momentum (FISTA). Each step takes two layers. Let the risk be the mean
    squared difference between the prediction and the true function at 32 queries. For each transformer, count the
    layers that are needed until the risk is at most 1.1 times the risk of the Lasso. The count stops at 2049 layers. On
    average over prompts, the transformer with momentum needs fewer layers than the transformer without momentum.
    """

    title = "A transformer that solves the Lasso reaches the same risk in fewer layers with momentum than without"
    source = Source("beck2009fista", "Theorem 4.4", note="for the risk of a transformer")
    population = MomentumPasses()
    relation = Order("momentum", (0.0, 1.0))
    control = Control("the transformer with momentum needs more layers", lambda sign, problem: -sign)
    controls = "the number of layers until the risk is near the risk of the Lasso"
    unexplained = RISK
    stated = Kind.OWN
    trials = 64
    predict = -1.0

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Return the layers 2 t + 1 for both transformers, where t is the first step with a risk below this limit."""
        model, targets = problem.model, problem.function(problem.queries)
        asked = model.features(problem.queries).T
        methods = (proximal_gradient, accelerated_proximal_gradient)
        paths = jnp.stack([each(problem.prompt, problem.y, model.penalty, model.step, LONGEST) for each in methods])
        risks = jnp.mean((paths @ asked - targets) ** 2, axis=2)
        reached = risks <= 1.1 * risks[1, -1]
        return 2.0 * jnp.where(reached.any(axis=1), jnp.argmax(reached, axis=1), LONGEST) + 1
