"""Task diversity in pretraining. Linear attention generalises to new tasks if it is trained on enough tasks; a Bayes
predictor memorises the tasks.

This theory assumes linear regression tasks with Gaussian inputs: a task is a weight vector w, and its labels are <w,
x>. It computes the error on new tasks after pretraining on k tasks. It does not explain transformers with many layers.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Kind, Limit, Population, Rate, Source, Space
from lemmata.engine.problems.drawn import Drawn, normal, positive, uniform

ABOUT = {"tool": "random matrices", "architecture": "transformer in context", "object": "generalisation"}

_CONTEXTS = (1e2, 1e3, 1e4)  # examples per dimension


class PretrainingTasks(eqx.Module):
    """k linear regression tasks, given by weight vectors. The trained layer depends only on their second moment."""

    tasks: Float[Array, "k d"]

    def error_on_new_tasks(self, alpha: float) -> Array:
        """Return the squared error per dimension of the best linear attention layer on new tasks, without noise.

        The layer predicts <x, G h> from h = (1/l) sum_i y_i x_i over l = alpha d examples. Its best G for tasks with
        second moment R is R C^-1. Here C = (1 + 1/l) R + (tr R/l) I is the covariance of h.
        """
        k, d = self.tasks.shape
        length = alpha * d
        moments = jnp.linalg.eigvalsh(self.tasks.T @ self.tasks / k)
        best = moments / ((1 + 1 / length) * moments + jnp.sum(moments) / length)
        return jnp.mean(1 - 2 * best + best**2 * (1 + (1 + d) / length))


class DrawnTasks(Population[PretrainingTasks]):
    """Tasks with Gaussian weight vectors in d dimensions; their number is kappa times d."""

    kappa: float = 1.0
    settings = Space(d=Integer(400, 320, 480, "dimension", step=2, corners=(360, 440)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PretrainingTasks:
        return PretrainingTasks(jax.random.normal(key, (int(self.kappa * setting["d"]), setting["d"])))

    def hypotheses(self, problem: PretrainingTasks) -> list[Hypothesis]:
        return [Hypothesis("tasks", float(len(problem.tasks)), ">", 0.0, "otherwise nothing was learned")]


class AbstractDiversity(Claim[PretrainingTasks]):
    """This class holds the shared parts of the claims about the error on new tasks as a function of the length of the
    context.
    """

    source = Source("emergence2026", "Figure 22.10", note="for the layer and the tasks of Lu et al. (2025)")
    stated = Kind.OWN
    unexplained = "noise in the labels, and contexts that are longer than d² examples"
    trials = 8

    def measure_at(self, problem: PretrainingTasks, key: Key[Array, ""], n: float) -> Array:
        """Compute the error from the eigenvalues of the drawn tasks' second moment."""
        return problem.error_on_new_tasks(n)


class FewTasksLeaveAFloor(AbstractDiversity):
    """A linear attention layer is trained on infinitely many prompts from k = kappa d linear regression tasks, where
    kappa < 1. The tasks have Gaussian weight vectors in d dimensions. Each prompt has l = alpha d examples without
    noise. As alpha grows, the layer's squared error on new tasks tends to the share

        1 - kappa

    of the error of predicting 0. This is the part of a new task outside the span of the k tasks.
    """

    title = "Trained on fewer tasks than dimensions, linear attention does not learn new tasks from prompts"
    population = DrawnTasks(kappa=0.5)
    relation = Limit("alpha", _CONTEXTS, margin=0.01, resolution=0.01)
    control = Control("the error tends to 1.1 times this value", lambda floor, problem: 1.1 * floor)
    controls = "the error in context on tasks that pretraining has not seen"
    predict = 0.5


class Dimension(eqx.Module):
    """The number of dimensions of the tasks."""

    d: int = eqx.field(static=True)


class CriticalDiversity(Claim[Dimension]):
    """A linear attention layer is trained on infinitely many prompts from k = d linear regression tasks with Gaussian
    weight vectors in d dimensions. Each prompt has l = alpha d examples without noise. Divide the layer's expected
    squared error on new tasks by the error of predicting 0. In the limit of a large d, and then of a large alpha, this
    ratio is

        alpha^(-1/2)/2.

    For alpha above about d², the error falls at another rate, because the smallest eigenvalue of the tasks' covariance
    is of the order 1/d².

    Derivation: along an eigenvector with eigenvalue x of the tasks' covariance, the best layer leaves the share 1/(1 +
    alpha x) of a new task unlearned, up to terms of order 1/alpha. The eigenvalues have the density 1/(pi sqrt(x)) near
    0 (Marchenko and Pastur). So the ratio is the integral of (1 + alpha x)^(-2)/(pi sqrt(x)), which is alpha^(-1/2)/2.
    """

    title = (
        "Trained on d tasks in R^d, linear attention errs by alpha^(-1/2)/2 on new tasks with alpha d examples in a "
        "prompt"
    )
    source = Source("lu2025", "main result", note="for its layer and tasks, for large d and then long contexts")
    stated = Kind.OWN
    population = Drawn(Dimension, d=Integer(400, 320, 480, "dimension", corners=(360, 440)))
    relation = Limit("alpha", (30.0, 250.0, 2000.0), margin=0.08, resolution=0.05)
    control = Control("the factor is 0.75 instead of 1/2", lambda found, problem: 1.5 * found)
    controls = "the error in context at the transition in task diversity"
    unexplained = AbstractDiversity.unexplained
    trials = 24
    predict = 0.5

    def measure_at(self, problem: Dimension, key: Key[Array, ""], n: float) -> Array:
        """Return the error times sqrt(alpha), averaged over four draws of the tasks."""
        drawn = jax.random.normal(key, (4, problem.d, problem.d))
        return jnp.mean(jax.lax.map(lambda own: PretrainingTasks(own).error_on_new_tasks(n), drawn)) * n**0.5


class ManyTasksGeneralise(AbstractDiversity):
    """A linear attention layer is trained on infinitely many prompts from k = 2 d linear regression tasks with Gaussian
    weight vectors in d dimensions. Each prompt has l = alpha d examples without noise. The layer's squared error on new
    tasks falls like

        1/alpha.

    So the error tends to 0, at the same rate as with infinitely many tasks.

    Derivation: the eigenvalues x of the tasks' covariance stay away from 0, so the part that is not learned contributes
    (1 + alpha x)^(-2), of the order alpha^(-2), to the error. The randomness of l examples in d dimensions contributes
    an error of the order d/l = 1/alpha.
    """

    title = "Trained on more tasks than dimensions, linear attention learns new tasks from prompts"
    population = DrawnTasks(kappa=2.0)
    relation = Rate("alpha", _CONTEXTS, margin=0.06, resolution=0.06)
    control = Control("the error falls like alpha^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the error in context on tasks that pretraining has not seen"
    predict = -1.0


class KnownTasks(eqx.Module):
    """The weight vectors of M known tasks and of a new task. The labels have noise of standard deviation sigma."""

    known: Float[Array, "M d"]
    new: Float[Array, " d"]
    sigma: Float[Array, ""]

    def gaps(self) -> Float[Array, " M"]:
        """The squared distances of the known tasks from the new task, divided by the dimension."""
        return jnp.mean((self.known - self.new) ** 2, axis=1)


class MemoriserEndsAtTheNearestTask(Claim[KnownTasks]):
    """A Bayes predictor knows M equally likely linear regression tasks with weight vectors w_1, ..., w_M in d
    dimensions. Give the predictor n examples of a new task w with Gaussian inputs and noise. As n grows, the
    predictor's squared error on new inputs tends to

        min_j |w - w_j|²,

    the squared distance from the nearest known task. If w is one of the known tasks, the error tends to 0. If w is
    another random task, the error stays of the order of |w|², unless log M is of the order of d. In contrast, ridge
    regression learns every task w.
    """

    title = "A Bayes predictor for M known tasks answers a new task with the nearest known task"
    source = Source(
        "raventos2023", "main result", note="for its discrete Bayes predictor, with the limit for long prompts"
    )
    stated = Kind.STEP
    population = Drawn(
        KnownTasks,
        positive("sigma"),
        known=normal("M", "d"),
        new=normal("d"),
        sigma=uniform(0.3, 1.0),
        M=Integer(32, 4, 256, "known tasks"),
        d=Integer(8, 4, 16, "dimension"),
    )
    relation = Limit("n", (50.0, 500.0, 5000.0), margin=0.03, resolution=0.03)
    control = Control(
        "the error tends to the squared distance from the second nearest task",
        lambda found, problem: jnp.sort(problem.gaps())[1],
    )
    controls = "the error in context of a model that has memorised its tasks"
    unexplained = "predictors that generalise beyond the known tasks"
    trials = 192

    def predict(self, problem: KnownTasks) -> Array:
        return jnp.min(problem.gaps())

    def measure_at(self, problem: KnownTasks, key: Key[Array, ""], n: float) -> Array:
        """Return the error of the posterior mean, minus the error if the prompt shows the first known task instead."""
        input_key, noise_key = jax.random.split(key)
        x = jax.random.normal(input_key, (int(n), len(problem.new)))
        noise = problem.sigma * jax.random.normal(noise_key, (int(n),))

        def error(task: Array) -> Array:
            misfit = jnp.sum((x @ (task - problem.known).T + noise[:, None]) ** 2, axis=0)
            weights = jax.nn.softmax(-misfit / (2 * problem.sigma**2))
            return jnp.mean((weights @ problem.known - task) ** 2)

        return error(problem.new) - error(problem.known[0])
