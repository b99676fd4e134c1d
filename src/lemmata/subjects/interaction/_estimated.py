"""Markov decision processes from steps of an agent, with limits of their probabilities, and from Gymnasium."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from lemmata.answers import Condition, inside, positive, whole
from lemmata.core import available_bytes, numbers_of
from lemmata.errors import DataError, MemoryPlanError, MissingDataError, SettingError, ShapeError

from ._inputs import as_discount, as_policy, as_steps
from ._tabular import TabularMDP


@dataclasses.dataclass(frozen=True, eq=False)
class EstimatedMDP(TabularMDP):
    """A Markov decision process that is estimated from steps: posterior means of Dirichlet distributions.

    Args:
        counts: how often each next state followed, (states, actions, states).
        prior: the parameter that each next state has before any step.
        level: of the limits.
        conditions: what the numbers rest on.
        claims: which state what errors of values cost.
    """

    counts: Int[np.ndarray, "s a s"] = dataclasses.field(default_factory=lambda: np.zeros((1, 1, 1), int))
    prior: float = 1.0
    level: float = 0.95
    conditions: tuple[Condition, ...] = ()
    claims: tuple[str, ...] = ("interaction.policies.greedy_loss",)

    @property
    def limits(self) -> Float[np.ndarray, "2 s a s"]:
        """Lower and upper limits of each probability, by the beta distribution that it has alone."""
        own = self.counts + self.prior
        rest = np.maximum(own.sum(axis=2, keepdims=True) - own, 1e-300)
        return np.stack([stats.beta.ppf(p, own, rest) for p in ((1 - self.level) / 2, (1 + self.level) / 2)])

    def value_interval(self, policy: Any, draws: int = 400, seed: int = 0) -> tuple[float, float]:
        """Limits of the expected value of a policy: quantiles over draws of the transition probabilities.

        The rewards stay at their means.

        Args:
            policy: as for `value`.
            draws: how many.
            seed: of the draws.
        """
        chosen = as_policy(policy, self.states, self.actions)
        rng, found = np.random.default_rng(whole("seed", seed)), []
        for _ in range(whole("draws", draws, 10)):
            drawn = rng.standard_gamma(self.counts + self.prior)
            total = drawn.sum(axis=2, keepdims=True)
            moves = np.where(total > 0, drawn / np.where(total > 0, total, 1.0), self.transitions)
            moves = np.where(self._known, self.transitions, moves)
            found.append(TabularMDP(moves, self.rewards, self.discount, self.start).value(chosen).expected)
        low, high = np.quantile(found, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(low), float(high)

    @property
    def _known(self) -> np.ndarray:
        """Rows that no step estimates: the end, which leads to itself."""
        ends = self.transitions[np.arange(self.states), :, np.arange(self.states)] == 1
        return (ends & (self.counts.sum(axis=2) == 0))[..., None]

    def __str__(self) -> str:
        steps, tried = int(self.counts.sum()), int((self.counts.sum(axis=2) > 0).sum())
        lines = [
            f"{TabularMDP.__str__(self)}, from {steps} steps",
            f"{tried} pairs of state and action were tried",
        ]
        return "\n".join([*lines, *(f"- {own}" for own in self.conditions if own.holds is False)])


def estimated(
    steps: Any, discount: Any, *, states: Any, actions: Any, unseen: Any, prior: Any, level: Any
) -> EstimatedMDP:
    """The process of `TabularMDP.from_trajectories`, whose documentation has the arguments."""
    places, rewards, ended = as_steps(steps)
    discount, level = as_discount(discount), inside("level", level, 0.0, 1.0)
    count = int(places[:, [0, 2]].max()) + 1
    s = _number("states", states, count)
    a = _number("actions", actions, int(places[:, 1].max()) + 1)
    total = s + int(ended.any())  # the end is a state of its own, the last
    if 24 * total**2 * a > available_bytes():
        raise MemoryPlanError("steps", found=f"{s} states and {a} actions", rule="tables that fit into memory",
                              remedy="number the states and actions that occur from 0")  # fmt: skip
    following = np.where(ended, s, places[:, 2])
    counts = np.zeros((total, a, total), np.int64)
    np.add.at(counts, (places[:, 0], places[:, 1], following), 1)
    tried = counts.sum(axis=2)
    weight = 1 / total if prior is None else positive("prior", prior)
    missing = int((tried[:s] == 0).sum())
    if missing and unseen is None:
        raise DataError("steps", found=f"{missing} of {s * a} pairs of a state and an action without a step",
                        rule="a step of every pair, or a reward for pairs without one",
                        remedy="pass unseen=reward, for example the least reward for a cautious estimate")  # fmt: skip
    size = np.abs(rewards).max() or 1.0
    sums = np.zeros((total, a))
    np.add.at(sums, (places[:, 0], places[:, 1]), rewards / size / tried[places[:, 0], places[:, 1]])
    means = sums * size
    if missing:
        reward = numbers_of("unseen", unseen)
        if reward.size != 1:
            raise ShapeError("unseen", found=f"shape {reward.shape}", rule="one number")
        means[:s][tried[:s] == 0] = float(reward.item())
    transitions = (counts + weight) / (tried + weight * total)[..., None]
    transitions[s:] = np.eye(total)[s:, None]
    first = np.zeros(total)
    starts = np.concatenate([[True], ended[:-1] | (places[1:, 0] != places[:-1, 2])])
    np.add.at(first, places[starts, 0], 1 / starts.sum())
    conditions = (
        Condition("steps are those of a Markov chain", None, None, "the next state depends on state and action alone"),
        Condition("pairs of a state and an action without a step", float(missing), missing == 0,
                  "they have the reward `unseen` and any next state"),
        Condition("rewards are at their means", None, None, "limits of values do not count their noise"),
    )  # fmt: skip
    return EstimatedMDP(transitions, means, discount, first, counts, weight, level, conditions)


def _number(name: str, given: Any, least: int) -> int:
    if given is None:
        return least
    number = whole(name, given, 1)
    if number < least:
        raise SettingError(name, found=f"{number}", rule=f"at least {least}, which the steps name")
    return number


def read_gymnasium(env: Any, discount: Any) -> TabularMDP:
    """The process of `TabularMDP.from_gymnasium`, whose documentation has the arguments."""
    if isinstance(env, str):
        try:
            import gymnasium
        except ImportError as error:
            raise MissingDataError("gymnasium", found="not installed", rule="needed for environments by name",
                                   remedy="install it with pip install 'lemmata[agents]'") from error  # fmt: skip
        try:
            env = gymnasium.make(env)
        except Exception as error:  # whatever Gymnasium raises for a name
            found = " ".join(str(error).split())[:100]
            raise SettingError("environment", found=found, rule="the name of an environment of Gymnasium") from error
    inner = getattr(env, "unwrapped", env)
    table = getattr(inner, "P", None)
    if not isinstance(table, dict) or not table:
        raise DataError(f"environment {type(inner).__name__}", found="no table of transitions P",
                        rule="a tabular environment, such as FrozenLake-v1, CliffWalking-v1 or Taxi-v4")  # fmt: skip
    states, actions = len(table), max(len(own) for own in table.values())
    ends = any(done for own in table.values() for steps in own.values() for *_, done in steps)
    total = states + int(ends)
    transitions, rewards = np.zeros((total, actions, total)), np.zeros((total, actions))
    for state, own in table.items():
        for action, steps in own.items():
            for chance, following, reward, done in steps:
                transitions[state, action, states if done else following] += chance
                rewards[state, action] += chance * reward
    transitions[states:] = np.eye(total)[states:, None]
    law = getattr(inner, "initial_state_distrib", None)
    start = None if law is None else np.append(np.asarray(law, float), np.zeros(total - states))
    return TabularMDP(transitions, rewards, discount, start)
