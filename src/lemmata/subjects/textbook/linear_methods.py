"""Linear methods: two of them that look different from least squares, and are least squares.

Ridge regression and the Lasso have sections of their own (`stability.capacity`, `optimisation.proximal_gradient`), and
so has logistic regression on separable rows (`trained_models.distances_to_boundaries`). The theory controls
coefficients on given rows; it leaves open how well lines fit.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.textbook._textbook_rows import LabelledTable, LinearTargets, TwoClouds

ABOUT = {"tool": "linear algebra", "architecture": "linear model", "object": "estimator"}

_SOURCE = Source("younes2024introduction", "Abstract, linear methods")
_COMPONENTS = 2


def _unit(direction: Float[np.ndarray, " d"]) -> Array:
    return jnp.asarray(direction / np.linalg.norm(direction))


def conjugate_gradients(problem: LabelledTable, steps: int) -> Float[np.ndarray, " d"]:
    """Coefficients after steps of conjugate gradients from 0 for X'X b = X'y, rows and targets centred."""
    x, y = problem.x - problem.x.mean(0), problem.y - problem.y.mean()
    b, rest = np.zeros(x.shape[1]), x.T @ y
    along = rest
    for _ in range(steps):
        curved = x.T @ (x @ along)
        length = rest @ rest / (along @ curved)
        b, after = b + length * along, rest - length * curved
        along, rest = after + (after @ after) / (rest @ rest) * along, after
    return b


class DiscriminantIsLeastSquares(Claim[LabelledTable]):
    """For two classes the normal of linear discriminant analysis, S^-1 (m_1 - m_0) with S the covariance within
    classes, has the direction of the coefficients of least squares on the labels -1 and 1.
    """

    title = "Linear discriminant analysis is least squares on labels"
    source = _SOURCE
    population = TwoClouds()
    relation = Equal(block=-1)
    control = Control(
        "the direction of the means alone",
        lambda found, problem: _unit(problem.x[problem.y > 0].mean(0) - problem.x[problem.y < 0].mean(0)),
    )
    controls = "the direction in which two classes are told apart"
    unexplained = "the threshold, which differs for classes of unequal size; three classes"
    traced = False  # scikit-learn

    def predict(self, problem: LabelledTable) -> Array:
        return _unit(LinearDiscriminantAnalysis().fit(problem.x, problem.y).coef_[0])

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """By least squares with an intercept."""
        design = np.column_stack([problem.x, np.ones(len(problem.x))])
        return _unit(np.linalg.lstsq(design, problem.y)[0][:-1])

    def condition(self, problem: LabelledTable) -> Array:
        """Normal equations square it."""
        return jnp.asarray(len(problem.x) * problem.conditioning**2)


class PartialLeastSquaresIsConjugateGradients(Claim[LabelledTable]):
    """The coefficients of partial least squares with two components, for one target, are those of two steps of
    conjugate gradients from 0 for X'X b = X'y: the best ones in the span of X'y and X'X X'y.
    """

    title = "Partial least squares is conjugate gradients"
    source = _SOURCE
    population = LinearTargets()
    relation = Equal(block=-1)
    control = Control("one step", lambda found, problem: jnp.asarray(conjugate_gradients(problem, _COMPONENTS - 1)))
    controls = "the coefficients of partial least squares"
    unexplained = "how many components are best"
    traced = False  # scikit-learn

    def predict(self, problem: LabelledTable) -> Array:
        return jnp.asarray(conjugate_gradients(problem, _COMPONENTS))

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """By scikit-learn, which deflates the rows."""
        return jnp.asarray(PLSRegression(_COMPONENTS, scale=False).fit(problem.x, problem.y).coef_[0])

    def condition(self, problem: LabelledTable) -> Array:
        """Of the normal equations in a Krylov space of dimension 2."""
        return jnp.asarray(len(problem.x) * problem.conditioning**4)
