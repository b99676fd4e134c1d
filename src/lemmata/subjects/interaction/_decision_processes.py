"""Random Markov decision processes with a few states, policies on them, and estimates of their values."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

_SWEEPS, _DOUBLINGS = 2000, 14


class DecisionProcess(eqx.Module):
    """A finite Markov decision process.

    Args:
        moves: the probability of each next state, by state and action.
        rewards: the mean reward of each action in each state.
        discount: the factor that multiplies rewards for each later step.
        start: the distribution of the first state.
    """

    moves: Float[Array, "s a s"]
    rewards: Float[Array, "s a"]
    discount: Float[Array, ""]
    start: Float[Array, " s"]

    def followed(self, policy: Float[Array, "s a"]) -> tuple[Float[Array, "s s"], Float[Array, " s"]]:
        """Return the transition matrix and the mean rewards under a policy, which is a table of probabilities."""
        return jnp.einsum("sa,sat->st", policy, self.moves), jnp.sum(policy * self.rewards, axis=1)

    def solved(self, policy: Float[Array, "s a"]) -> Float[Array, " s"]:
        """Return the value of a policy in each state, from a linear system."""
        transition, reward = self.followed(policy)
        return jnp.linalg.solve(jnp.eye(len(reward)) - self.discount * transition, reward)

    def hypotheses(self) -> list[Hypothesis]:
        """Require probabilities that are not negative and sum to 1, and a discount below 1."""
        gap = jnp.abs(jnp.concatenate([self.moves.sum(axis=2).ravel(), self.start.sum()[None]]) - 1).max()
        return [
            Hypothesis(
                "the largest distance of a sum of probabilities from 1", gap, "<=", 1e-12, "they are distributions"
            ),
            Hypothesis("the least probability", jnp.minimum(self.moves.min(), self.start.min()), ">=", 0.0),
            Hypothesis("the discount", self.discount, "<", 1.0, "then sums of rewards converge"),
        ]


def summed_powers(matrix: Float[Array, "s s"]) -> Float[Array, "s s"]:
    """Return I + M + M² + ... for a matrix M, a sum of 2^14 terms, by repeated doubling of the number of terms."""

    def double(_, carry):
        total, power = carry
        return total + power @ total, power @ power

    return jax.lax.fori_loop(0, _DOUBLINGS, double, (jnp.eye(len(matrix)), matrix))[0]


def best_values(process: DecisionProcess) -> Float[Array, " s"]:
    """Return the optimal values, from 2,000 sweeps of value iteration."""
    look = lambda _, values: jnp.max(process.rewards + process.discount * process.moves @ values, axis=1)
    return jax.lax.fori_loop(0, _SWEEPS, look, jnp.zeros(len(process.start)))


def random_process(setting: dict, key: Key[Array, ""]) -> DecisionProcess:
    """Draw transition probabilities from a Dirichlet distribution with parameter 0.1, normal rewards, and a start.

    The distribution of the first state is uniform on the simplex.
    """
    s, a = setting["states"], setting["actions"]
    one, two, three = jax.random.split(key, 3)
    moves = jax.random.dirichlet(one, jnp.full(s, 0.1), (s, a))
    start = jax.random.dirichlet(three, jnp.ones(s))
    return DecisionProcess(moves, jax.random.normal(two, (s, a)), jnp.asarray(setting["discount"]), start)


def sizes(discount: float = 0.9, most: float = 0.99) -> Space:
    """Return the settings of processes: the numbers of states and actions, and the discount."""
    return Space(
        states=Integer(8, 4, 20, "states", corners=(5, 12)),
        actions=Integer(3, 3, 6, "actions", corners=(3, 5)),
        discount=Real(discount, 0.5, most, "discount per step", corners=(0.7, min(0.95, most))),
    )


class PolicyPair(eqx.Module):
    """A process with two policies. The softmax of a policy's logits is the table of its action probabilities."""

    process: DecisionProcess
    logits: Float[Array, "s a"]
    other: Float[Array, "s a"]

    @property
    def policies(self) -> tuple[Float[Array, "s a"], Float[Array, "s a"]]:
        """The action probabilities of both policies."""
        return jax.nn.softmax(self.logits, axis=1), jax.nn.softmax(self.other, axis=1)


class PolicyPairs(Population[PolicyPair]):
    """Processes with nearly sparse random transitions, and policies with normal logits of standard deviation 2."""

    free = ("logits", "other")
    settings = sizes()

    def sample(self, setting: dict, key: Key[Array, ""]) -> PolicyPair:
        own, policy_key = jax.random.split(key)
        process = random_process(setting, own)
        return PolicyPair(process, *(2 * jax.random.normal(policy_key, (2, *process.rewards.shape))))

    def hypotheses(self, problem: PolicyPair) -> list[Hypothesis]:
        return problem.process.hypotheses()


class ValueGuess(eqx.Module):
    """A process, a guess of its optimal values, and the largest allowed error of the guess in a state."""

    process: DecisionProcess
    guess: Float[Array, " s"]
    error: Float[Array, ""]


class ValueGuesses(Population[ValueGuess]):
    """Guesses of optimal values. Half of the processes are random.

    In the other processes, state 0 has three kinds of action, with the discount gamma and the error eps of the guess.
    One action stays in state 0 with the reward -2 gamma eps, one action leaves with reward 0, and the other actions are
    bad. Under the guessed values, staying appears as good as leaving.
    """

    settings = sizes(most=0.95)

    def sample(self, setting: dict, key: Key[Array, ""]) -> ValueGuess:
        """Draw errors of random sign, with eps between 0.05 and 0.5."""
        own, kind_key, sign_key, size_key = jax.random.split(key, 4)
        process = random_process(setting, own)
        s, a = process.rewards.shape
        error = 0.05 * 10 ** jax.random.uniform(size_key)
        first = jnp.zeros((s, a)).at[0, 0].set(-2 * process.discount * error).at[0, 2:].set(-4.0)
        stay = jnp.broadcast_to(jnp.eye(s)[:, None], (s, a, s)).at[0, 1:].set(jnp.eye(s)[1])
        tight = jax.random.bernoulli(kind_key)
        moves, rewards = jnp.where(tight, stay, process.moves), jnp.where(tight, first, process.rewards)
        process = DecisionProcess(moves, rewards, process.discount, process.start)
        signs = jax.random.rademacher(sign_key, (s,), float)
        signs = jnp.where(tight, jnp.where(jnp.arange(s) == 0, 1.0, -1.0), signs)
        # with slightly smaller losses, rounding cannot make the action that stays worse than the action that leaves
        process = eqx.tree_at(lambda p: p.rewards, process, rewards * jnp.where(tight, 1 - 1e-9, 1.0))
        return ValueGuess(process, best_values(process) + error * signs, error)

    def hypotheses(self, problem: ValueGuess) -> list[Hypothesis]:
        off = jnp.abs(problem.guess - best_values(problem.process)).max()
        near = Hypothesis(
            "the largest error of the guess", off, "<=", problem.error, "the bound is a multiple of this error"
        )
        return [*problem.process.hypotheses(), near]
