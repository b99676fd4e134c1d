"""Random Ising models on trees, loops and dense graphs, and converged messages of belief propagation."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.generators import generator_of

REST = 1e-13
"""Messages count as converged if no message changes by more than this number in one round."""


class IsingModel(eqx.Module):
    """The distribution p(s) = exp(sum over i < j of J_ij s_i s_j + sum of h_i s_i) / Z of spins s_i = -1, 1.

    Args:
        couplings: the couplings J, a symmetric matrix with 0 where there is no edge.
        fields: the field h_i on each spin.
        messages: u_ij, the field on spin j that spin i sends after belief propagation.
    """

    couplings: Float[np.ndarray, "n n"]
    fields: Float[np.ndarray, " n"]
    messages: Float[np.ndarray, "n n"]

    @property
    def totals(self) -> Float[np.ndarray, " n"]:
        """The total at each spin: its field plus the sum of the messages that it receives."""
        return self.fields + self.messages.sum(0)

    @property
    def beliefs(self) -> Float[np.ndarray, " n"]:
        """The beliefs 1/(1 + exp(-2 total)), where `totals` gives the total at each spin.

        The beliefs estimate P(s_i = 1).
        """
        return 1 / (1 + np.exp(-2 * self.totals))


def sent(
    couplings: Float[np.ndarray, "n n"], fields: Float[np.ndarray, " n"], messages: Float[np.ndarray, "n n"]
) -> Float[np.ndarray, "n n"]:
    """Return the messages of one round: tanh u_ij = tanh J_ij tanh(h_i + sum of u_ki over k other than j)."""
    cavity = (fields + messages.sum(0))[:, None] - messages.T
    return np.arctanh(np.tanh(couplings) * np.tanh(cavity))


def belief_propagation(
    couplings: Float[np.ndarray, "n n"], fields: Float[np.ndarray, " n"], rounds: int = 300
) -> Float[np.ndarray, "n n"]:
    """Return the messages of belief propagation. Each round updates all messages, starting from 0.

    The rounds end when no message changes any more, or after `rounds` rounds.

    Args:
        couplings: the couplings J, a symmetric matrix with 0 where there is no edge.
        fields: the field h_i on each spin.
        rounds: the largest number of rounds.

    Returns:
        u_ij, the field on spin j that spin i sends.

    >>> import numpy as np
    >>> chain = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> np.round(belief_propagation(chain, np.array([0.5, 0.0]))[0, 1], 3)
    np.float64(0.368)
    """
    messages = np.zeros_like(couplings)
    for _ in range(rounds):
        before, messages = messages, sent(couplings, fields, messages)
        if np.abs(messages - before).max() <= REST / 100:
            break
    return messages


def edges_of(graph: str, n: int, rng: np.random.Generator) -> Float[np.ndarray, "n n"]:
    """Return the adjacency matrix of a random tree, a loop, or a random graph with about 3/4 of all edges."""
    found = np.zeros((n, n))
    if graph == "tree":
        for i in range(1, n):
            found[i, rng.integers(i)] = 1.0
    elif graph == "loop":
        found[np.arange(n), (np.arange(n) + 1) % n] = 1.0
    else:
        found = np.triu(rng.uniform(size=(n, n)) < 0.75, 1).astype(float)
    return found + found.T


class IsingModels(Population[IsingModel]):
    """Random Ising models with fields of either sign. Couplings have either sign, or are all attractive.

    Args:
        graph: the kind of graph: "tree", "loop" or "dense".
        attractive: whether no coupling may be negative.
        strength: the default size of the largest coupling.
        rest: whether messages are passed until they no longer change (belief propagation has converged). Otherwise all
    messages are 0.
    """

    graph: str = eqx.field(default="tree", static=True)
    attractive: bool = eqx.field(default=False, static=True)
    rest: bool = eqx.field(default=True, static=True)
    strength: float = eqx.field(default=0.6, static=True)

    def settings(self) -> Space:
        return Space(
            spins=Integer(6, 3, 10, "spins", corners=(4, 7)),
            strength=Real(self.strength, 0.05, 2.0, "largest coupling", corners=(self.strength / 2, self.strength)),
            graph=Choice(self.graph, (self.graph,), "graph"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> IsingModel:
        """Draw couplings of size between 1/3 of the strength and the strength, and fields of size up to 0.7."""
        rng, n = generator_of(key), setting["spins"]
        size = np.triu(rng.uniform(1 / 3, 1.0, (n, n)) * setting["strength"], 1)
        sign = 1.0 if self.attractive else np.triu(rng.choice([-1.0, 1.0], (n, n)), 1)
        couplings = sign * size
        couplings = (couplings + couplings.T) * edges_of(setting["graph"], n, rng)
        fields = rng.uniform(-0.7, 0.7, n)
        return IsingModel(couplings, fields, belief_propagation(couplings, fields, 300 if self.rest else 0))

    def hypotheses(self, problem: IsingModel) -> list[Hypothesis]:
        """Return the hypotheses of symmetric couplings, of converged messages if `rest` is true, and of couplings that
        are not negative if `attractive` is true.
        """
        moved = np.abs(sent(problem.couplings, problem.fields, problem.messages) - problem.messages).max()
        uneven = np.abs(problem.couplings - problem.couplings.T).max()
        found = [Hypothesis("largest |J_ij - J_ji|", uneven, "<=", 0.0, "couplings are symmetric")]
        if self.rest:
            found.append(
                Hypothesis(
                    "largest change of a message in one round", moved, "<=", REST, "beliefs are those of a fixed point"
                )
            )
        if self.attractive:
            found.append(Hypothesis("least coupling", problem.couplings.min(), ">=", 0.0, "no coupling is negative"))
        return found
