"""Long adversarial training: what it forgets, what it overfits, and what stopping row by row keeps.

The flow of a wide network whose rows are attacked by ascent tends to the interpolant that training without attack
finds, because such an attack fades with the residual. This theory controls that limit and the way to it; it assumes
attacks that follow the gradient. It leaves unexplained attacks of a fixed length, which experiments use, and whose
limit is another.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.adversaries import learn_row_times, projected_gradient
from lemmata.architectures import TangentKernel, relu_network
from lemmata.chapters.adversaries.adversarial_flow import changing_flow
from lemmata.claims import AtMost, Claim, Control, Kind, Limit, Order, Source, Status
from lemmata.kernels import gram
from lemmata.problems._attacked_flows import AttackedFlow, AttackedFlows
from lemmata.problems._spurious_rows import AttackedRows, SpuriousRows
from lemmata.solvers import row_time_coefficients

_SMALL_STEP = 0.2  # of descent under signed attacks, in units of 1 / (largest eigenvalue at its attacked rows)
_SEARCH, _ATTACK = 15, 3  # steps of a search for times, and of an attack


def signed_training(problem: AttackedRows, steps: int) -> Float[Array, " d"]:
    """Weights w of w'x from 0 after descent on rows that the worst shift x + radius sign(w) sign(w'x - y) has moved.

    Args:
        problem: the rows.
        steps: of descent.
    """
    rate = _SMALL_STEP / (jnp.linalg.norm(problem.x, 2) + problem.radius * problem.x.size**0.5) ** 2

    def one(_, w):
        residual = problem.x @ w - problem.y
        attacked = problem.x + problem.radius * jnp.sign(residual)[:, None] * jnp.sign(w)
        return w - rate * attacked.T @ (attacked @ w - problem.y)

    return jax.lax.fori_loop(0, steps, one, jnp.zeros(problem.x.shape[1]))


class PrintedDegeneration(Claim[AttackedRows]):
    """Adversarial training of a linear model, on rows that are moved by the signed attack of a radius in every step,
    tends to the model that training without attack finds: the interpolant of least norm. The relative distance tends
    to 0.
    """

    title = "Long adversarial training forgets the attack, as printed"
    source = Source("fu2024theoretical", "Abstract, degeneration", note="as printed")
    stated = Kind.THEOREM
    reading = "the attack is the signed one of a fixed radius that experiments use"
    population = SpuriousRows(n=20, d=60, new=1)
    relation = Limit("steps", (250.0, 1000.0, 4000.0), margin=0.1, resolution=0.1, relative=False)
    control = Control("a third of the distance stays", lambda gap, problem: gap + 1 / 3)
    controls = "the weights of a linear model after long training under attack"
    unexplained = "what that limit is: weights of small absolute sum, which residuals of 0 need not have"
    trials = 32
    expected = Status.REFUTED

    def predict(self, problem: AttackedRows) -> Array:
        return jnp.asarray(0.0)

    def measure_at(self, problem: AttackedRows, key: Key[Array, ""], rung: float) -> Array:
        plain = jnp.linalg.lstsq(problem.x, problem.y)[0]
        return jnp.linalg.norm(signed_training(problem, int(rung)) - plain) / jnp.linalg.norm(plain)


class LongAttackDegenerates(Claim[AttackedFlow]):
    """In the flow df/dt = -K E(t) (f - y) with diagonal E(t) >= 1, that of attacks by ascent, however E changes,

        |f(t) - y|_K <= exp(-lambda t) |f(0) - y|_K,    |r|_K² = r' K^-1 r,

    lambda the smallest eigenvalue of K. So f tends to y on the training rows and to the plain interpolant elsewhere:
    what attacks did is forgotten at least as fast as plain training takes.
    """

    title = "Long training under attacks by ascent ends at the plain interpolant"
    source = Source("fu2024theoretical", "Abstract, degeneration", note="for attacks that fade with the residual")
    population = AttackedFlows("changing")
    relation = AtMost()
    control = Control("3/2 times as fast", lambda bound, problem: bound**1.5 * _distance(problem) ** -0.5)
    controls = "how long adversarial training remembers the attack"
    unexplained = "attacks of a fixed length, which do not fade"
    corrects = PrintedDegeneration

    def predict(self, problem: AttackedFlow) -> Array:
        smallest = jnp.linalg.eigvalsh(problem.K)[0]
        return jnp.exp(-smallest * problem.time) * _distance(problem)

    def measure(self, problem: AttackedFlow, key: Key[Array, ""]) -> Array:
        """The flow, by the rule of Runge and Kutta."""
        residual = changing_flow(problem, problem.time)
        return jnp.sqrt(residual @ jnp.linalg.solve(problem.K, residual))

    def condition(self, problem: AttackedFlow) -> Array:
        """The rule is off by (speed t)^5 / 120 a step at most, far below what the bound leaves."""
        return 1e3 + (problem.speed * problem.time) ** 5 / 512**4 / 120 / 7e-15

    def trivial(self, problem: AttackedFlow) -> Array:
        """Training never raises this norm."""
        return _distance(problem)


def _distance(problem: AttackedFlow) -> Array:
    residual = problem.start - problem.y
    return jnp.sqrt(residual @ jnp.linalg.solve(problem.K, residual))


class RobustOverfitting(Claim[AttackedRows]):
    """Where one input of size 2 tells the label in 95 % of the rows and 60 others of unit variance tell it faintly, the
    flow of a linear model whose 100 rows have weights between 1 and 2 loses robust accuracy, on held-out rows under the
    worst shift of every input by 0.3, from the time 1/lambda to 10/lambda and on to 100/lambda, lambda the largest
    eigenvalue of the rows' Gram matrix.
    """

    title = "Robust accuracy falls in long training"
    source = Source("fu2024theoretical", "Abstract, robust overfitting")
    stated = Kind.REMARK
    reading = "long training can hurt: shown on a law made for it, with the theory's own flow"
    population = SpuriousRows()
    relation = Order("time", (1.0, 10.0, 100.0))
    control = Control("it rises", lambda sign, problem: -sign)
    controls = "robust accuracy along training"
    unexplained = "laws on which the interpolant is robust, of which digits are one"
    trials = 32

    def predict(self, problem: AttackedRows) -> Array:
        return jnp.asarray(-1.0)

    def measure_at(self, problem: AttackedRows, key: Key[Array, ""], rung: float) -> Array:
        K = problem.x @ problem.x.T
        c = row_time_coefficients(K, rung * problem.unit * problem.weights, problem.y)
        return jnp.mean(problem.linear_margins(problem.x.T @ c) > 0)


class LearnedTimesAreRobust(Claim[AttackedRows]):
    """Where one input of size 2 tells the label in 95 % of the rows and 40 others of unit variance tell it faintly, the
    robust accuracy of an infinitely wide ReLU network of one hidden layer, on held-out rows under projected gradient
    attacks of radius 0.3, is higher with times learned row by row, on 40 rows with 20 more for validation
    (Adv-NTK), than after plain training on all 60.
    """

    title = "Times learned row by row make infinite width robust"
    source = Source("fu2024theoretical", "Abstract, Adv-NTK")
    stated = Kind.REMARK
    reading = (
        "enhances robustness: beyond plain training on all rows, those of the validation included; on a law made for "
        "it. At first the claim was that one common time lies between the two; a look did not show that, and it was "
        "dropped"
    )
    population = SpuriousRows(n=60, d=40, new=150)
    relation = Order("method", (0.0, 1.0))
    control = Control("it falls", lambda sign, problem: -sign)
    controls = "robust accuracy of kernel predictors"
    unexplained = (
        "whether times of rows beat one common time; images, on which the paper compares with networks of finite width"
    )
    trials = 48

    def predict(self, problem: AttackedRows) -> Array:
        return jnp.asarray(1.0)

    def measure(self, problem: AttackedRows, key: Key[Array, ""]) -> Array:
        kernel = TangentKernel(relu_network(1))
        x, y, n = problem.x, problem.y, 2 * len(problem.y) // 3
        own = (kernel, x[:n], y[:n], x[n:], y[n:], problem.radius)
        fit = learn_row_times(*own, steps=_SEARCH, attack_steps=_ATTACK)
        learned = jnp.concatenate([fit.coefficients, jnp.zeros(len(y) - n)])
        stacked = jnp.stack([jnp.linalg.solve(gram(kernel, x), y), learned])

        def robust(c: Array) -> Array:
            margins = lambda z: problem.y_new * (kernel.cross(z, x) @ c)
            attacked = projected_gradient(lambda z: -margins(z), problem.x_new, problem.radius, 8)
            return jnp.mean(margins(attacked) > 0)

        return jax.lax.map(robust, stacked)
