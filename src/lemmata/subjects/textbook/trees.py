"""Decision trees: a guaranteed gain of the best split.

In the test problems, each column has two values, so every column gives one split. The theory bounds the gain of the
best split if some split is better than chance. It does not say how well trees predict new rows.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from sklearn.tree import DecisionTreeClassifier

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.subjects.textbook._textbook_rows import LabelledTable, TwoValuedTables

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "training"}

_KEY = "younes2024introduction"


def best_advantage(problem: LabelledTable) -> float:
    """Return how much better than 1/2 the best column predicts the class, if both classes weigh the same."""
    weights = np.where(problem.y > 0, 0.5 / (problem.y > 0).sum(), 0.5 / (problem.y < 0).sum())
    return float(np.abs((weights * problem.y) @ (2 * problem.x - 1)).max() / 2)


class SplitGainsByAdvantage(Claim[LabelledTable]):
    """Let the impurity of a set of rows be 4 q (1 - q), where q is the fraction of rows of class 1. Let G be the
    impurity of all rows. Weight the rows so that both classes have the same total weight. Suppose that some split, used
    as a classification rule, has the weighted error rate 1/2 - g. Take the split that lowers the mean impurity of the
    two sides most, where each row counts equally. After this split, the mean impurity is at most

        G (1 - 4 g² G)

    So the tree finds a useful split if one exists. If no single split is better than chance, g is 0 and the bound
    guarantees no gain.
    """

    title = "The best split of a decision tree lowers the impurity by a guaranteed amount if some split beats chance"
    source = Source(_KEY, "Abstract, decision trees", note="for one split")
    population = TwoValuedTables()
    relation = AtMost()
    control = Control("the impurity is at most 0.99 of the bound", lambda bound, problem: 0.99 * bound)
    controls = "the impurity after one split"
    unexplained = "splits that are useful only in combination"
    traced = False  # scikit-learn

    def predict(self, problem: LabelledTable) -> Array:
        q = (problem.y > 0).mean()
        whole = 4 * q * (1 - q)
        return jnp.asarray(whole * (1 - 4 * best_advantage(problem) ** 2 * whole))

    def measure(self, problem: LabelledTable, key: Key[Array, ""]) -> Array:
        """Twice the mean Gini impurity of the leaves of a tree of depth 1."""
        tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(problem.x, problem.y).tree_
        leaves = tree.children_left == -1
        return jnp.asarray(2 * tree.impurity[leaves] @ tree.n_node_samples[leaves] / len(problem.y))

    def trivial(self, problem: LabelledTable) -> Array:
        """Return the impurity without a split."""
        q = (problem.y > 0).mean()
        return jnp.asarray(4 * q * (1 - q))

    def condition(self, problem: LabelledTable) -> Array:
        """Return the condition number of sums over the rows."""
        return jnp.asarray(float(len(problem.y)))
