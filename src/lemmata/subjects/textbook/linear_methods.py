"""Linear methods: two methods that look different from least squares and reduce to it.

Other sections treat ridge regression and the Lasso (`stability.capacity`, `optimisation.proximal_gradient`) and
logistic regression on separable rows (`trained_models.distances_to_boundaries`). The theory here is about the
coefficients on given rows. It does not say how well a linear model fits.
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
    """Return the coefficients after conjugate gradient steps from 0 for X'X b = X'y, with centred rows and targets."""
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
    """Let rows belong to two classes with means m_0 and m_1, and let S be the covariance within classes. Linear
    discriminant analysis has the normal vector S^-1 (m_1 - m_0). Fit the labels -1 and 1 by least squares with an
    intercept. The fitted coefficients have the same direction as this normal vector.
    """

    title = "Linear discriminant analysis has the direction of least squares on labels"
    source = _SOURCE
    population = TwoClouds()
    relation = Equal(block=-1)
    control = Control(
        "the direction is that of the difference of the means",
        lambda found, problem: _unit(problem.x[problem.y > 0].mean(0) - problem.x[problem.y < 0].mean(0)),
    )
    controls = "the direction that separates two classes"
    unexplained = "the threshold, which differs for classes of unequal size; three or more classes"
    traced = False  # scikit-learn

    def predict(self, problem: LabelledTable) -> Array:
        return _unit(LinearDiscriminantAnalysis().fit(problem.x, problem.y).coef_[0])

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """The direction of the coefficients of least squares with an intercept."""
        design = np.column_stack([problem.x, np.ones(len(problem.x))])
        return _unit(np.linalg.lstsq(design, problem.y)[0][:-1])

    def condition(self, problem: LabelledTable) -> Array:
        """Return the number of rows times their squared condition number, since normal equations square it."""
        return jnp.asarray(len(problem.x) * problem.conditioning**2)


class PartialLeastSquaresIsConjugateGradients(Claim[LabelledTable]):
    """Let X be a matrix of centred rows and y a vector of centred targets. The coefficients of partial least squares
    with two components equal the result of two conjugate gradient steps, from 0, for X'X b = X'y. These coefficients
    have the smallest squared error of all coefficients in the span of X'y and X'X X'y.
    """

    title = "Partial least squares with two components is two conjugate gradient steps"
    source = _SOURCE
    population = LinearTargets()
    relation = Equal(block=-1)
    control = Control(
        "the coefficients are those of one conjugate gradient step",
        lambda found, problem: jnp.asarray(conjugate_gradients(problem, _COMPONENTS - 1)),
    )
    controls = "the coefficients of partial least squares"
    unexplained = "how many components are best"
    traced = False  # scikit-learn

    def predict(self, problem: LabelledTable) -> Array:
        return jnp.asarray(conjugate_gradients(problem, _COMPONENTS))

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """The coefficients of partial least squares from scikit-learn, which deflates the rows."""
        return jnp.asarray(PLSRegression(_COMPONENTS, scale=False).fit(problem.x, problem.y).coef_[0])

    def condition(self, problem: LabelledTable) -> Array:
        """Return the condition number of the normal equations in a Krylov space of dimension 2."""
        return jnp.asarray(len(problem.x) * problem.conditioning**4)
