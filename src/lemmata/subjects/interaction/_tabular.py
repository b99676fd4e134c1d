"""Finite Markov decision processes: values, optimal policies, visits of states, and losses from approximate values."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from lemmata.answers import Condition, whole
from lemmata.errors import DataError, SolverError
from lemmata.printable import preformatted

from ._answers import Advantage, GreedyLoss, OptimalPolicy, PolicyValue, TDSolution, certain
from ._estimated import estimated, read_gymnasium
from ._inputs import as_discount, as_features, as_policy, as_rewards, as_start, as_transitions, as_values
from ._solutions import solved
from ._visits import Occupancy, occupied, stationary

_ROUNDS = 1000
_TIE = 1e-12  # actions tie if their difference is below this share of the largest difference of values or rewards
_AT_ONCE = 2**22  # number of transition probabilities that are drawn at once
_EPS = float(np.finfo(float).eps)


@dataclasses.dataclass(frozen=True, eq=False)
class TabularMDP:
    """A Markov decision process with finitely many states and actions.

    Args:
        transitions: the probability of each next state, (states, actions, states).
        rewards: the mean reward, of shape (states, actions), (states,) or (states, actions, states).
        discount: the factor that multiplies rewards for each later step, at least 0 and below 1.
        start: the distribution of the first state; by default, the uniform distribution.

    Raises:
        DataError: for probabilities that are negative or do not sum to 1, or numbers that are not finite.
        ShapeError, SettingError: for shapes that do not fit each other, or a discount outside [0, 1).

    Example:
        >>> stay_or_go = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
        >>> print(TabularMDP(stay_or_go, [[1.0, 0.0], [2.0, 2.0]], 0.9).optimal())
        optimal expected value at the start: 19, after 2 rounds of policy iteration
        state  action     value
            0       1        18
            1       0        20
        the values are optimal to rounding; other actions are as good in 1 state
    """

    transitions: Any  # after the initialisation, these fields are NumPy arrays, and the discount is a float
    rewards: Any
    discount: Any
    start: Any = None

    def __post_init__(self) -> None:
        transitions = as_transitions(self.transitions)
        checked = {
            "transitions": transitions,
            "rewards": as_rewards(self.rewards, transitions),
            "start": as_start(self.start, len(transitions)),
        }
        for name, array in checked.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        object.__setattr__(self, "discount", as_discount(self.discount))

    @property
    def states(self) -> int:
        """The number of states."""
        return self.transitions.shape[0]

    @property
    def actions(self) -> int:
        """The number of actions."""
        return self.transitions.shape[1]

    def __str__(self) -> str:
        return f"{self.states} states, {self.actions} actions, discount {self.discount:g}"

    def _repr_html_(self) -> str:
        return preformatted(self)

    @staticmethod
    def from_trajectories(
        steps: Any, discount: float | int, *, states: int | None = None, actions: int | None = None,
        unseen: Any = None, prior: float | int | None = None, level: float | int = 0.95,
    ) -> "EstimatedMDP":  # fmt: skip
        """Estimate a process from the steps of an agent, with a Dirichlet distribution for each pair of state and
        action.

        Args:
            steps: a table with one row for each step. The columns are state, action, reward, next state, and
                optionally 1 if the episode ended, otherwise 0. A list of such tables is also allowed. Each table starts
                an episode. States and actions are whole numbers from 0. If episodes end, the estimated process has an
                additional last state for the end, with rewards of 0.
            discount: the factor that multiplies rewards for each later step, at least 0 and below 1.
            states: the number of states; by default, one more than the largest number of a state in the steps.
            actions: the number of actions; by default, one more than the largest number of an action in the steps.
            unseen: the reward of each pair of a state and an action without a step. After such a pair, all next states
                are equally likely.
            prior: the Dirichlet parameter of each next state. The default is 1 over the number of states, including
                the additional last state.
            level: the confidence level of the limits.

        Raises:
            DataError: for numbers that are not whole, or pairs without a step if `unseen` is not given.
            ShapeError, SettingError: for another number of columns, for an invalid setting, or for `states` or
                `actions` below the numbers in the steps.
            MemoryPlanError: if the tables do not fit into memory.

        Example:
            >>> steps = [[0, 0, 1.0, 0], [0, 0, 1.0, 1], [0, 1, 0.0, 1], [1, 0, 2.0, 1], [1, 1, 0.0, 0]]
            >>> found = TabularMDP.from_trajectories(steps, 0.9)
            >>> print(found)
            2 states, 2 actions, discount 0.9, from 5 steps
            4 pairs of state and action were tried
            - every pair that was tried has at least 5 steps (fewest of a pair): fails (1)
            >>> found.optimal().policy
            array([0, 0])
        """
        fields = estimated(steps, states=states, actions=actions, unseen=unseen, prior=prior, level=level)
        return EstimatedMDP(discount=discount, **fields)

    @staticmethod
    def from_gymnasium(env: Any, discount: float | int = 0.99) -> "TabularMDP":
        """Return the process of a tabular environment of Gymnasium.

        Steps that end an episode lead to an additional last state, whose rewards are 0.

        Args:
            env: an environment with a table `env.unwrapped.P`, or the name of the environment.
            discount: the factor that multiplies rewards for each later step, which Gymnasium does not specify.

        Raises:
            MissingDataError: for a name, if Gymnasium is not installed.
            DataError, SettingError: for an environment without a table, or an unknown name.
        """
        transitions, rewards, start = read_gymnasium(env)
        return TabularMDP(transitions, rewards, discount, start)

    def value(self, policy: Any) -> PolicyValue:
        """Return the value of a policy in each state, from a linear system.

        Args:
            policy: probabilities of actions, (states, actions), or one action for each state as whole numbers.
        """
        chosen = as_policy(policy, self.states, self.actions)
        values, gains = self._solved(chosen)
        error = self._error(np.sum(chosen * gains, axis=1), values)
        return PolicyValue(
            values, values[:, None] + gains, float(self._from_start(values)), error, (certain(error, values),)
        )

    def advantage(self, policy: Any) -> Advantage:
        """Return the gain of each action over the policy, if the policy chooses all later actions.

        Args:
            policy: as for `value`.

        Example:
            >>> stay_or_go = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
            >>> print(TabularMDP(stay_or_go, [[1.0, 0.0], [2.0, 2.0]], 0.9).advantage([0, 0]))
            the largest gain is 8: action 1 in state 0; some action gains in 1 of 2 states
        """
        chosen = as_policy(policy, self.states, self.actions)
        values, gains = self._solved(chosen)
        error = 2 * self._error(np.sum(chosen * gains, axis=1), values)
        least = max(error, _TIE * self._size(values))
        return Advantage(gains, error, int((gains.max(axis=1) > least).sum()), (certain(error, gains, "gains"),))

    def occupancy(self, policy: Any) -> Occupancy:
        """Return the discounted share of time in each state, (1 - discount) sum_t discount^t P(s_t = s).

        Args:
            policy: as for `value`.
        """
        chosen = as_policy(policy, self.states, self.actions)
        return occupied(np.einsum("sa,sat->st", chosen, self.transitions), self.start, self.discount)

    def optimal(self) -> OptimalPolicy:
        """Return an optimal policy, from policy iteration. A sweep of value iteration bounds the error of its values.

        Example:
            >>> import numpy as np
            >>> TabularMDP(np.full((2, 2, 2), 0.5), [[0.0, 1.0], [0.0, 3.0]], 0.5).optimal().policy
            array([1, 1])
        """
        policy = np.asarray(self.rewards).argmax(axis=1)
        rounds, seen = 0, set()
        while rounds < _ROUNDS:
            rounds += 1
            values, gains = self._solved(np.eye(self.actions)[policy])
            tie = _TIE * self._size(values)
            better = gains.max(axis=1) > gains[np.arange(self.states), policy] + tie
            seen.add(policy.tobytes())
            following = np.where(better, gains.argmax(axis=1), policy)
            if following.tobytes() in seen:  # convergence, or a cycle from rounding, whose effect the error includes
                break
            policy = following
        else:
            raise SolverError("policy iteration", found=f"no convergence after {_ROUNDS} rounds", rule="convergence")
        error = self._error(gains.max(axis=1), values)
        ties = int(((gains >= gains.max(axis=1, keepdims=True) - tie).sum(axis=1) > 1).sum())
        return OptimalPolicy(
            policy, values, values[:, None] + gains, float(self._from_start(values)), error, rounds, ties,
            (certain(error, values),),
        )  # fmt: skip

    def greedy_loss_bound(self, estimate: Any) -> GreedyLoss:
        """Return the loss of the greedy policy for estimated values, and the bound 2 discount error / (1 - discount).

        A constant that is added to all estimates does not change the policy. Therefore the bound also holds with the
        error that remains after the best constant is added.

        Args:
            estimate: estimates of the optimal values, one number for each state.
        """
        guess, best = as_values("estimate", estimate, self.states), self.optimal()
        if np.abs(guess).max() > 1e300:
            raise DataError("estimate", found=f"{np.abs(guess).max():.3g}", rule="values below 1e300")
        looked = self._centred(guess)
        policy = looked.argmax(axis=1)
        loss = np.maximum(best.values - self._solved(np.eye(self.actions)[policy])[0], 0.0)
        off = guess - best.values
        error, shifted = float(np.abs(off).max()), float(off.max() / 2 - off.min() / 2)
        factor = 2 * self.discount / (1 - self.discount)
        tie = _TIE * max(self._size(guess), np.abs(looked).max())
        ties = int(((looked >= looked.max(axis=1, keepdims=True) - tie).sum(axis=1) > 1).sum())
        most = float((best.values + TabularMDP(self.transitions, -self.rewards, self.discount).optimal().values).max())
        conditions = (
            Condition("one action looks best in each state (number of states with several)", float(ties), ties == 0,
                      "the loss depends on which of these actions is chosen, and the bound does not"),
            Condition("the smaller bound is below the loss of the worst policy", most, bool(factor * shifted < most),
                      "otherwise the bound holds for every policy, and shows nothing about this policy"),
        )  # fmt: skip
        return GreedyLoss(policy, loss, error, factor * error, factor * shifted, conditions)

    def td_solution(self, features: Any, policy: Any) -> TDSolution:
        """Return the values to which temporal-difference learning with linear features converges.

        Args:
            features: the features of the states, one row for each state.
            policy: as for `value`.

        Raises:
            DataError: if the features are linearly dependent on the states that the policy visits in the long run.
        """
        chosen = as_policy(policy, self.states, self.actions)
        moves = np.einsum("sa,sat->st", chosen, self.transitions)
        law = stationary(moves)
        table = as_features(features, self.states)
        size = np.abs(table).max(axis=0)
        table = table / np.where(size > 0, size, 1.0)
        scale = np.sqrt(law)[:, None]
        rank = int(np.linalg.matrix_rank(scale * table))
        if rank < table.shape[1]:
            raise DataError("features", found=f"{table.shape[1]} columns of rank {rank} on the {int((law > 0).sum())} "
                            "states that the policy keeps visiting", rule="independent columns on these states",
                            remedy="drop columns, or let the last state of an episode lead to the first")  # fmt: skip
        values = self._solved(chosen)[0]
        unit = np.abs(values).max() or 1.0
        goal, rewards = values / unit, np.sum(chosen * self.rewards, axis=1) / unit
        visited = table.T * law
        weights = np.linalg.solve(visited @ (table - self.discount * moves @ table), visited @ rewards)
        fitted = table @ np.linalg.lstsq(scale * table, scale[:, 0] * goal)[0]
        length = lambda own: float(np.sqrt(law @ own**2)) * unit
        best = length(fitted - goal)
        transient = int((law == 0).sum())
        bound, spread = float(best / np.sqrt(1 - self.discount**2)), length(goal - law @ goal)
        conditions = (
            Condition("the policy keeps visiting every state (number of states it leaves forever)", float(transient),
                      transient == 0, "the error does not include these states"),
            Condition("the bound is below the error of the best constant", spread, bool(bound < spread or bound == 0),
                      "otherwise the bound does not show that these features are useful"),
        )  # fmt: skip
        error = length(table @ weights - goal)
        return TDSolution(
            weights * unit / np.where(size > 0, size, 1.0), table @ weights * unit, values, law, error, best, bound,
            conditions,
        )  # fmt: skip

    def _centred(self, values: Float[np.ndarray, " s"]) -> Float[np.ndarray, "s a"]:
        """Return action values for estimated values, minus a constant. Otherwise rounding could hide differences."""
        middle = values.max() / 2 + values.min() / 2
        return (self.rewards - self._middle) + self.discount * (self.transitions @ (values - middle))

    @property
    def _middle(self) -> float:
        return float(self.rewards.max() / 2 + self.rewards.min() / 2)

    def _size(self, values: Float[np.ndarray, " s"]) -> float:
        """Return the scale of the numbers that distinguish actions: differences of rewards and of values."""
        return float(max(np.abs(self.rewards - self._middle).max(), values.max() - values.min()))

    def _error(self, gains: Float[np.ndarray, " s"], values: Float[np.ndarray, " s"]) -> float:
        """Return a bound on the error of values whose equation has the residuals `gains`, including rounding."""
        largest = float(np.abs(values).max())
        rounding = _EPS * (self.states * self._size(values) + np.abs(self.rewards).max())
        return float((np.abs(gains).max() + rounding) / (1 - self.discount)) + 2 * _EPS * largest

    def _from_start(self, values: Float[np.ndarray, "... s"]) -> Any:
        """Return the mean over the distribution of the first state, for one or several vectors of values."""
        size = float(np.abs(values).max()) or 1.0
        return (values / size) @ self.start * size

    def _solved(self, policy: Float[np.ndarray, "s a"]) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s a"]]:
        return solved(self.transitions, self.rewards, policy, self.discount)


@dataclasses.dataclass(frozen=True, eq=False)
class EstimatedMDP(TabularMDP):
    """A Markov decision process that is estimated from steps: posterior means of Dirichlet distributions.

    Args:
        counts: the number of steps from each state with each action to each next state, (states, actions, states).
        prior: the Dirichlet parameter of each next state in the prior.
        level: the confidence level of the limits.
        conditions: the conditions for the results.
        claims: names of the claims that bound the loss from errors in the values.
    """

    counts: Int[np.ndarray, "s a s"] = dataclasses.field(default_factory=lambda: np.zeros((1, 1, 1), int))
    prior: float = 1.0
    level: float = 0.95
    conditions: tuple[Condition, ...] = ()
    claims: tuple[str, ...] = ("interaction.policies.greedy_loss",)

    @property
    def limits(self) -> Float[np.ndarray, "2 s a s"]:
        """The lower and upper limits of each probability, from the marginal beta distribution of this probability."""
        own = self.counts + self.prior
        rest = np.maximum(own.sum(axis=2, keepdims=True) - own, 1e-300)
        return np.stack([stats.beta.ppf(p, own, rest) for p in ((1 - self.level) / 2, (1 + self.level) / 2)])

    def value_interval(self, policy: Any, draws: int = 400, seed: int = 0) -> tuple[float, float]:
        """Return an interval for the expected value of a policy: quantiles over draws of the transition probabilities.

        The draws come from the Dirichlet distributions. The rewards are fixed at their means.

        Args:
            policy: as for `value`.
            draws: the number of draws of all transition probabilities.
            seed: the random seed of the draws.
        """
        chosen = as_policy(policy, self.states, self.actions)
        rng, count = np.random.default_rng(whole("seed", seed)), whole("draws", draws, 10)
        step = max(1, _AT_ONCE // self.transitions.size)
        found = np.concatenate([
            self._from_start(solved(self._drawn(rng, min(step, count - k)), self.rewards, chosen, self.discount)[0])
            for k in range(0, count, step)
        ])  # fmt: skip
        low, high = np.quantile(found, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)

    def _drawn(self, rng: np.random.Generator, count: int) -> Float[np.ndarray, "n s a s"]:
        drawn = np.stack([rng.standard_gamma(self.counts + self.prior) for _ in range(count)])
        total = drawn.sum(axis=-1, keepdims=True)
        moves = np.where(total > 0, drawn / np.where(total > 0, total, 1.0), self.transitions)
        return np.where(self._known, self.transitions, moves)

    @property
    def _known(self) -> np.ndarray:
        """A mask of the pairs of state and action that are not estimated: the pairs of the end state."""
        ends = self.transitions[np.arange(self.states), :, np.arange(self.states)] == 1
        return (ends & (self.counts.sum(axis=2) == 0))[..., None]

    def __str__(self) -> str:
        steps, tried = int(self.counts.sum()), int((self.counts.sum(axis=2) > 0).sum())
        lines = [
            f"{TabularMDP.__str__(self)}, from {steps} steps",
            f"{tried} pairs of state and action were tried",
        ]
        return "\n".join([*lines, *(f"- {own}" for own in self.conditions if own.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the probabilities, with limits, of the 40 most frequent transitions."""
        import altair as alt

        low, high = self.limits
        seen = np.argwhere(self.counts > 0)
        often = seen[np.argsort(-self.counts[tuple(seen.T)], kind="stable")][:40]
        rows = [
            {"step": f"state {s}, action {a}, to {t}", "probability": float(self.transitions[s, a, t]),
             "low": float(low[s, a, t]), "high": float(high[s, a, t]), "count": int(self.counts[s, a, t])}
            for s, a, t in often.tolist()
        ]  # fmt: skip
        base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("step:N", sort=None, title=None))
        reach = base.mark_rule().encode(x=alt.X("low:Q", title="probability"), x2="high:Q")
        return reach + base.mark_point(filled=True).encode(x="probability:Q", tooltip=["count:Q"])
