"""The tangent kernel: what ridge regression with the gradients of a model makes of the same rows.

This theory controls the error of a kernel machine, at the start and at the trained weights. It asks for few rows, and
for the start the parameters that training began with; it leaves unexplained by how much the model differs from it.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Estimate, Hypothesis, Kind, Source, Status
from lemmata.subjects.trained_models import KernelMachine, Trained
from lemmata.subjects.trained_models._memorising_networks import MemorisingNetworks
from lemmata.subjects.trained_models._tangent_kernel import MOST_ROWS, kernel_bytes, kernel_passes
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, stationary

from .leaving_out import HeldOutErrorFromTrainingRows, mean_limits, measured_share, predicted_share
from .start import begun

ABOUT = {"tool": "reproducing kernels", "architecture": "any", "object": "estimator"}

_TIED = 0.97  # the central 95 % held 96 % of 738 numbers, of small samples fewer


def few_rows(problem: Trained) -> list[Hypothesis]:
    """That a kernel of all pairs of rows can be held, and that leaving one row out leaves no copy of it."""
    return [
        Hypothesis("training rows", float(len(problem.x)), "<=", float(MOST_ROWS), "a kernel has all pairs of them"),
        Hypothesis("share of training rows that have a copy", problem.copies.share, "<=", 0.01,
                   "leaving one of two copies out changes nothing"),
    ]  # fmt: skip


def _passes(problem: Trained, name: str) -> float:
    others = 0 if problem.held is None else len(problem.held[0])
    return 0.0 if name in vars(problem) else kernel_passes(problem.model, problem.x, others, problem.factored)


def _bytes(problem: Trained) -> int:
    return kernel_bytes(problem.model, problem.x, 0 if problem.held is None else len(problem.held[0]))


def from_left_out(problem: Trained, outputs: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "3"]:
    """What outputs at rows left out say of the error on new rows.

    The kernel ties row i to j as it ties j to i: errors of rows left out are worth those of half as many rows where
    nothing but noise is learned (see `ClassesByChanceAreGuessed`), and half as many are counted.
    """
    wrong, half = problem.task.errors(outputs, problem.y), len(problem.y) // 2
    new = len(wrong) if problem.held is None else int(problem.fresh.sum()) or len(wrong)
    if not problem.task.is_classification:
        return mean_limits(wrong, 1 / half + 1 / new)
    low, _, high = predicted_share(float(round(wrong.mean() * half)), float(half), new, _TIED)
    return np.array([low, wrong.mean(), high])


def on_new_rows(problem: Trained, machine: KernelMachine) -> Float[np.ndarray, "3"]:
    """The machine's error on held-out rows that are not copies of training rows."""
    new = problem.fresh
    wrong = problem.task.errors(machine.outputs[new], problem.held_rows[1][new])
    if not problem.task.is_classification:
        return mean_limits(wrong, 1 / len(wrong))
    return measured_share(int(wrong.sum()), len(wrong))


class ErrorOfTheStartKernel(Claim[Trained]):
    """Let K be the tangent kernel of a model at the parameters theta0 that its training began with,

        K(x, z) = (1/C) sum_c <df_c(theta0, x)/dtheta, df_c(theta0, z)/dtheta>,

    and the kernel machine ridge regression of the targets with K and a constant, the ridge being the one of 29 whose
    squared error of leaving one row out is least. The share of training rows that it calls wrong when they are left
    out, which is exact and costs one eigensystem, predicts its error on rows that it has not seen: the central 97 % of
    the beta-binomial law that half of the rows imply hold their number in at least nine of ten models. For values the
    mean squared distance is predicted, with normal limits.
    """

    title = "Error of the tangent kernel at the start"
    source = Source("jacot2018", note="the kernel; its own error by leaving out, which is exact for ridge regression")
    stated = Kind.OWN
    population = TrainedNetworks(steps=5)
    relation = Estimate()
    control = Control("half of that error", lambda interval, problem: interval / 2)
    controls = "the error that training would reach if the model stayed linear in its parameters"
    unexplained = "what the model gains or loses by leaving the tangent"
    traced = False
    shared = ("start_kernel",)

    def passes(self, problem: Trained) -> float:
        return _passes(problem, "start_kernel")

    def bytes(self, problem: Trained) -> int:
        return _bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return [*few_rows(problem), *begun(problem)]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_left_out(problem, problem.start_kernel.left_out))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The kernel machine on held-out rows that are not copies of training rows."""
        return jnp.asarray(on_new_rows(problem, problem.start_kernel))

    def trivial(self, problem: Trained) -> Array:
        """The share that always guessing the most frequent class gets wrong; of values, their variance."""
        return HeldOutErrorFromTrainingRows().trivial(problem)


class EndKernelLeavesRowsOut(Claim[Trained]):
    """Taken as a kernel that is given: ridge regression with the tangent kernel of a model at its *trained* parameters
    predicts its error on new rows by leaving one training row out, as with the kernel at the start. The central 97 % of
    the beta-binomial law that half of the rows imply hold their number in at least nine of ten models, also where
    classes are drawn at random, so that all that the trained parameters know is the rows.
    """

    title = "Leaving rows out of ridge regression with the trained tangent kernel"
    source = Source("fort2020", note="the kernel after training; left out as if it did not depend on the rows")
    stated = Kind.OWN
    expected = Status.REFUTED
    population = MemorisingNetworks()
    relation = Estimate()
    control = Control("half of that error", lambda interval, problem: interval / 2)
    controls = "the error of the kernel machine at the trained weights"
    unexplained = "that each row's class has shaped the kernel, also where the row is left out"
    of_data = False
    traced = False
    trials = 40

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_left_out(problem, problem.end_kernel.left_out))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The kernel machine on held-out rows."""
        return jnp.asarray(on_new_rows(problem, problem.end_kernel))

    def trivial(self, problem: Trained) -> Array:
        """The share that always guessing the most frequent class gets wrong."""
        return HeldOutErrorFromTrainingRows().trivial(problem)


class ErrorOfTheEndKernel(Claim[Trained]):
    """Ridge regression with the tangent kernel of a model at its trained parameters errs on new rows as the model does:
    its error there is predicted by leaving one row out of the *model*, by one Newton step each, which takes the row out
    of the kernel too. The central 97 % of the beta-binomial law that half of the rows imply hold the number of wrong
    new rows in at least nine of ten models, also where many classes are drawn at random; for values, normal limits of
    the mean squared distance.
    """

    title = "Error of the tangent kernel at the trained weights"
    source = EndKernelLeavesRowsOut.source
    stated = Kind.OWN
    corrects = EndKernelLeavesRowsOut
    population = MemorisingNetworks(noise=0.4)
    relation = Estimate()
    control = Control("half of that error", lambda interval, problem: interval / 2)
    controls = "whether the model is worth more than ridge regression with its own gradients"
    unexplained = "how training found these gradients"
    traced = False
    shared = ("polished", "left_out", "end_kernel")

    def passes(self, problem: Trained) -> float:
        return problem.leaving_out_passes + _passes(problem, "end_kernel")

    def bytes(self, problem: Trained) -> int:
        return max(_bytes(problem), problem.leaving_out_bytes)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        few = few_rows(problem)
        return [few[0], *stationary(problem)] if bool(few[0].holds) else few

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_left_out(problem, problem.left_out.outputs))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The kernel machine on held-out rows that are not copies of training rows."""
        return jnp.asarray(on_new_rows(problem, problem.end_kernel))

    def trivial(self, problem: Trained) -> Array:
        """The share that always guessing the most frequent class gets wrong; of values, their variance."""
        return HeldOutErrorFromTrainingRows().trivial(problem)
