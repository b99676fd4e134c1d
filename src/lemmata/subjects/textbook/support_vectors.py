"""Support vector machines: a dual problem with the same value, and a parameter nu that bounds fractions of the rows.

The section `generalisation.support_vectors` compares leave-one-out errors with the number of support vectors. The
theory here is about the solution on given rows, up to the tolerance of the solver. It does not treat the error on new
rows.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from sklearn.svm import SVC, NuSVC

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Hypothesis, Source
from lemmata.subjects.textbook._textbook_rows import LabelledTable, TwoClouds

ABOUT = {"tool": "convex optimisation", "architecture": "kernel method", "object": "training"}

_SOURCE = Source("younes2024introduction", "Abstract, support vector machines")
_COST, _WIDTH, _STOP, _NU = 1.0, 0.5, 1e-5, 0.4  # libsvm keeps kernels in single precision


def _machine(problem: LabelledTable) -> SVC:
    return SVC(C=_COST, gamma=_WIDTH, tol=_STOP).fit(problem.x, problem.y)  # pyright: ignore[reportArgumentType]


def _counted(problem: LabelledTable) -> NuSVC:
    return NuSVC(nu=_NU, kernel="linear", tol=_STOP).fit(problem.x, problem.y)


def _margin(problem: LabelledTable) -> Hypothesis:
    """Require a positive margin: multipliers of at most 1 sum to nu n, and libsvm divides them by the margin."""
    margin = _NU * len(problem.x) / np.abs(np.asarray(_counted(problem).dual_coef_)).sum()
    return Hypothesis("margin in the solver's scale", margin, ">=", 0.1, "some plane has a positive margin at this nu")


def _squared_norm(machine: SVC) -> float:
    """Return the squared norm of the function in the kernel's space."""
    found, along = np.asarray(machine.support_vectors_), np.asarray(machine.dual_coef_)[0]
    gram = np.exp(-_WIDTH * np.sum((found[:, None] - found) ** 2, axis=2))
    return float(along @ gram @ along)


class NoDualityGap(Claim[LabelledTable]):
    """Consider the support vector machine with cost C and kernel k on n rows x_i with classes y_i, -1 or 1. Let |f| be
    the norm of a function f in the reproducing kernel Hilbert space of k, and let b be a number. The primal problem is
    to choose the f and b that minimise

        |f|²/2 + C sum over i of max(0, 1 - y_i (f(x_i) + b)).

    The dual problem is to choose numbers a_i that maximise sum a_i - 1/2 sum a_i a_j y_i y_j k(x_i, x_j), subject to 0
    <= a_i <= C and sum a_i y_i = 0. The smallest primal value equals the largest dual value. If sequential minimal
    optimisation stops at the tolerance e, the primal and the dual value at its solution differ by at most n C e.
    """

    title = "The support vector machine has no duality gap"
    source = _SOURCE
    population = TwoClouds()
    relation = Equal()
    control = Control("the dual value is 10 % lower", lambda value, problem: 0.9 * value)
    controls = "how near a solver's result is to the minimum"
    unexplained = "how many steps the solver takes"
    traced = False  # libsvm

    def predict(self, problem: LabelledTable) -> Array:
        machine = _machine(problem)
        return jnp.asarray(np.abs(np.asarray(machine.dual_coef_)).sum() - _squared_norm(machine) / 2)

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """The value of the primal problem, computed from the machine's outputs at the rows."""
        machine = _machine(problem)
        losses = np.maximum(0.0, 1 - problem.y * machine.decision_function(problem.x))
        return jnp.asarray(_squared_norm(machine) / 2 + _COST * losses.sum())

    def condition(self, problem: LabelledTable) -> Array:
        """Return n C e, where e is the solver's tolerance, in units of the tolerance of an identity."""
        return jnp.asarray(len(problem.x) * _COST * _STOP / (32 * np.finfo(float).eps * self.predict(problem)))


class NuBoundsMarginErrors(Claim[LabelledTable]):
    """Let f be the output of a support vector machine with parameter nu on rows x_i with classes y_i, -1 or 1. A row is
    a margin error if y_i f(x_i) is below the margin of the machine. The fraction of the rows that are margin errors is
    at most

        nu
    """

    title = "In a support vector machine, the parameter nu bounds the fraction of margin errors from above"
    source = _SOURCE
    population = TwoClouds(apart=4.0)
    relation = AtMost()
    control = Control("the fraction is at most 0.8 nu", lambda share, problem: 0.8 * share)
    controls = "the share of rows inside the margin"
    unexplained = "errors on new rows"
    traced = False  # libsvm
    predict = _NU
    trivial = 1.0  # all of them

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """The fraction of rows that are below the margin by more than the solver's tolerance."""
        return jnp.asarray((problem.y * _counted(problem).decision_function(problem.x) < 1 - 1e-3).mean())

    def hypotheses(self, problem: LabelledTable) -> list[Hypothesis]:
        """Require a margin well above the solver's tolerance."""
        return [_margin(problem)]


class NuBoundsSupportVectors(Claim[LabelledTable]):
    """Train a support vector machine with parameter nu on rows of two classes. The fraction of the rows that are
    support vectors is at least

        nu
    """

    title = "In a support vector machine, the parameter nu bounds the fraction of support vectors from below"
    source = _SOURCE
    population = TwoClouds(apart=4.0)
    relation = AtLeast()
    control = Control("the fraction is at least 1.3 nu", lambda share, problem: 1.3 * share)
    controls = "the share of rows on which the solution depends"
    unexplained = "errors on new rows"
    traced = False  # libsvm
    predict = _NU
    trivial = 0.0  # none

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """The fraction of rows with a positive multiplier, which are the support vectors."""
        return jnp.asarray(len(_counted(problem).support_) / len(problem.x))

    def hypotheses(self, problem: LabelledTable) -> list[Hypothesis]:
        """Require a margin well above the solver's tolerance."""
        return [_margin(problem)]
