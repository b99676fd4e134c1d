"""The tangent kernel: how well ridge regression with the gradients of a model predicts from the same rows.

The theory predicts the error of a kernel machine, at the start and at the trained weights. It needs few rows. For the
kernel at the start it also needs the parameters that training began with. It leaves open by how much the errors of the
model and of the kernel machine differ.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Estimate, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import KernelMachine, Trained
from lemmata.subjects.trained_models._memorising_networks import MemorisingNetworks
from lemmata.subjects.trained_models._tangent_kernel import MOST_ROWS, kernel_bytes, kernel_passes
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks, stationary

from ._factors import is_factored
from ._fresh_rows import copies_of, fresh_rows
from ._gauge import AbstractGauge
from ._leave_one_out import leaving_out_bytes, leaving_out_passes, rows_left_out
from ._losses import HUBER, LOG, SQUARED, WEIGHTED
from ._once import is_known
from ._outputs import held_rows
from ._polish import polished_copy
from ._tangent_kernel import end_kernel, start_kernel
from .leaving_out import HeldOutErrorFromTrainingRows, mean_limits, measured_share, predicted_share
from .start import begun

ABOUT = {"tool": "reproducing kernels", "architecture": "any", "object": "estimator"}

_REGRESSED = (LOG, WEIGHTED, SQUARED, HUBER)  # targets that are themselves values of outputs
# 95 % intervals contained 96 % of 738 measured numbers, but a smaller share if samples were small.
_TIED = 0.97


def few_rows(problem: Trained) -> list[Hypothesis]:
    """The conditions that a kernel of all pairs fits into memory and that few rows have duplicates."""
    return [
        Hypothesis("training rows", float(len(problem.x)), "<=", float(MOST_ROWS),
            "the kernel stores all pairs of rows"),
        Hypothesis("share of training rows with a duplicate", copies_of(problem).share, "<=", 0.01,
                   "if only one of two duplicates is left out, the other duplicate still shows its target"),
    ]  # fmt: skip


def _one_value(problem: Trained) -> Hypothesis:
    """The condition that a regression has a single output, because the kernel is a mean over outputs."""
    values = 1.0 if problem.task.is_classification else float(problem.y.shape[1])
    return Hypothesis(
        "number of values for each row",
        values,
        "<=",
        1.0,
        "the kernel is a mean over outputs, so every value is predicted with the gradients of all outputs",
    )


def _passes(problem: Trained, machine: Callable[[Trained], KernelMachine]) -> float:
    others = 0 if problem.held is None else len(problem.held[0])
    known = is_known(machine, problem)
    return 0.0 if known else kernel_passes(problem.model, problem.x, others, is_factored(problem))


def _bytes(problem: Trained) -> int:
    return kernel_bytes(problem.model, problem.x, 0 if problem.held is None else len(problem.held[0]))


def from_left_out(problem: Trained, outputs: Float[np.ndarray, "n C"]) -> Float[np.ndarray, "3"]:
    """Predict the error on new rows from the outputs at left-out rows.

    The kernel is symmetric in two rows: row i influences the prediction at row j as much as j influences the prediction
    at i. If only noise is learned, every such influence is therefore counted twice among the errors of n left-out rows.
    They then show as much as the errors of n/2 independent rows (see `ClassesByChanceAreGuessed`), and so count as n/2
    rows.
    """
    wrong, half = problem.task.errors(outputs, problem.y), len(problem.y) // 2
    new = len(wrong) if problem.held is None else int(fresh_rows(problem).sum()) or len(wrong)
    if not problem.task.is_classification:
        return mean_limits(wrong, 1 / half + 1 / new)
    low, _, high = predicted_share(float(round(wrong.mean() * half)), float(half), new, _TIED)
    return np.array([low, wrong.mean(), high])


def on_new_rows(problem: Trained, machine: KernelMachine) -> Float[np.ndarray, "3"]:
    """The kernel machine's error on held-out rows that are not duplicates of training rows."""
    new = fresh_rows(problem)
    wrong = problem.task.errors(machine.outputs[new], held_rows(problem)[1][new])
    if not problem.task.is_classification:
        return mean_limits(wrong, 1 / len(wrong))
    return measured_share(int(wrong.sum()), len(wrong))


class ErrorOfTheStartKernel(AbstractGauge):
    """Let K be the tangent kernel of a model at the parameters theta0 that its training began with,

        K(x, z) = (1/C) sum_c <df_c(theta0, x)/dtheta, df_c(theta0, z)/dtheta>,

    where f_c is the c-th of C outputs. Let the kernel machine be ridge regression of the targets with K and a constant.
    Of 29 values of the ridge, take the value with the smallest squared leave-one-out error. For ridge regression, one
    eigendecomposition gives the exact output at each training row if this row is left out. The share of rows that are
    then wrong predicts the error of the kernel machine on new rows. This share implies a beta-binomial distribution for
    the number of wrong new rows, computed as if the share came from half as many independent rows. In at least nine of
    ten models, the central 97 % of this distribution contain the number of wrong new rows. For real-valued targets, the
    mean squared distance between targets and predictions is predicted instead, with normal limits.
    """

    title = "Error of ridge regression with the initial tangent kernel, predicted by leaving rows out"
    source = Source(
        "jacot2018", note=("the kernel; here its error by leaving rows out, which is exact for ridge regression")
    )
    stated = Kind.OWN
    population = TrainedNetworks(steps=5)
    relation = Estimate()
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "the error that training would reach if the model stayed linear in its parameters"
    unexplained = "what the model gains or loses when it leaves the linear regime"
    traced = False
    losses = _REGRESSED
    shared = (start_kernel,)

    def passes(self, problem: Trained) -> float:
        return _passes(problem, start_kernel)

    def bytes(self, problem: Trained) -> int:
        return _bytes(problem)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return [*few_rows(problem), *begun(problem)]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_left_out(problem, start_kernel(problem).left_out))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the kernel machine on held-out rows that are not duplicates of training rows."""
        return jnp.asarray(on_new_rows(problem, start_kernel(problem)))

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class. For real-valued targets, their variance."""
        return HeldOutErrorFromTrainingRows().trivial(problem)


class EndKernelKnowsItsRows(Claim[Trained]):
    """Let networks be trained on classes drawn at random. For each network, take ridge regression with the tangent
    kernel at its trained parameters. The class of each row has shaped this kernel, so the kernel knows the class of a
    row even if the row is left out of the regression. In at least nine of ten models, the regression is wrong on at
    most as large a share of left-out rows as of new rows. So leaving rows out gives too small an error for regression
    with the trained kernel. For regression with the tangent kernel at the start of training, leaving rows out does
    measure the error.
    """

    title = "Leaving rows out of regression with the trained tangent kernel gives too small an error"
    source = Source("fort2020", note="the kernel after training")
    stated = Kind.OWN
    population = MemorisingNetworks()
    relation = AtMost(delta=0.1)
    control = Control("half of this share", lambda share, problem: share / 2)
    controls = "how far the leave-one-out error lies below the error of the kernel machine on new rows"
    unexplained = "how large the difference is, which grows with the number of parameters"
    of_data = False
    traced = False
    trivial = 1.0  # a share is at most 1

    def predict(self, problem: Trained) -> Array:
        """The bound, which is the error of the kernel machine on held-out rows."""
        return jnp.asarray(on_new_rows(problem, end_kernel(problem))[1])

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The share of training rows that the kernel machine predicts wrongly when they are left out."""
        return jnp.asarray(from_left_out(problem, end_kernel(problem).left_out)[1])


class ErrorOfTheEndKernel(AbstractGauge):
    """Take ridge regression with the tangent kernel of a model at its trained parameters. On new rows, the regression
    has nearly the same error as the model. To predict this error, leave each row out of the model, not only of the
    regression, by one Newton step. This removes the row from the kernel too. Take the share of rows that are wrong when
    they are left out. This share implies a beta-binomial distribution for the number of wrong new rows, computed as if
    the share came from half as many independent rows. In at least nine of ten models, the central 97 % of this
    distribution contain the number of wrong new rows. This holds even if many classes are drawn at random. For one
    real-valued target, the mean squared distance between targets and predictions is predicted instead, with normal
    limits. For several real-valued targets the statement is false, because the kernel is a mean over outputs. Every
    output is then predicted with the gradients of all outputs.
    """

    title = "Error of ridge regression with the trained tangent kernel, predicted by leaving rows out of the model"
    source = Source("fort2020", note="the kernel after training")
    stated = Kind.OWN
    population = MemorisingNetworks(noise=0.4)
    relation = Estimate()
    control = Control("half of this error", lambda interval, problem: interval / 2)
    controls = "whether the model is better than ridge regression with its own gradients"
    unexplained = "how training found these gradients"
    traced = False
    losses = _REGRESSED
    shared = (polished_copy, rows_left_out, end_kernel)

    def passes(self, problem: Trained) -> float:
        return leaving_out_passes(problem) + _passes(problem, end_kernel)

    def bytes(self, problem: Trained) -> int:
        return max(_bytes(problem), leaving_out_bytes(problem))

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        few = few_rows(problem)
        return [few[0], _one_value(problem), *stationary(problem)] if bool(few[0].holds) else few

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(from_left_out(problem, rows_left_out(problem).outputs))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the kernel machine on held-out rows that are not duplicates of training rows."""
        return jnp.asarray(on_new_rows(problem, end_kernel(problem)))

    def trivial(self, problem: Trained) -> Array:
        """The error of always guessing the most frequent class. For real-valued targets, their variance."""
        return HeldOutErrorFromTrainingRows().trivial(problem)
