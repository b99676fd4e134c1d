"""Tables of Markov decision processes, estimated from an agent's steps or read from Gymnasium environments."""

from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, inside, positive, whole
from lemmata.core import available_bytes, numbers_of
from lemmata.errors import DataError, MemoryPlanError, MissingDataError, SettingError, ShapeError

from ._inputs import as_steps


def estimated(steps: Any, *, states: Any, actions: Any, unseen: Any, prior: Any, level: Any) -> dict[str, Any]:
    """Return the fields of an `EstimatedMDP`. `TabularMDP.from_trajectories` documents the arguments."""
    places, rewards, ended, first_steps = as_steps(steps)
    level = inside("level", level, 0.0, 1.0)
    count = int(places[:, [0, 2]].max()) + 1
    s = _number("states", states, count)
    a = _number("actions", actions, int(places[:, 1].max()) + 1)
    total = s + int(ended.any())  # if episodes end, an additional last state is the end
    if 24 * total**2 * a > available_bytes():
        raise MemoryPlanError("steps", found=f"{s} states and {a} actions", rule="tables that fit into memory",
                              remedy="number only the states and actions that occur, starting from 0")  # fmt: skip
    following = np.where(ended, s, places[:, 2])
    counts = np.zeros((total, a, total), np.int64)
    np.add.at(counts, (places[:, 0], places[:, 1], following), 1)
    tried = counts.sum(axis=2)
    weight = 1 / total if prior is None else positive("prior", prior)
    if weight > 1e100:
        raise SettingError("prior", found=f"{weight:g}", rule="at most 1e100")
    missing = int((tried[:s] == 0).sum())
    if missing and unseen is None:
        raise DataError("steps", found=f"{missing} of {s * a} pairs of a state and an action that occur in no step",
                        rule=("at least one step for each pair of a state and an action, or a reward for the other "
                        "pairs"),
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
    starts = first_steps | np.concatenate([[True], ended[:-1] | (places[1:, 0] != places[:-1, 2])])
    np.add.at(first, places[starts, 0], 1 / starts.sum())
    fewest = int(tried[tried > 0].min())
    conditions = (
        Condition("steps are those of a Markov chain", None, None, "the next state depends only on state and action"),
        Condition("every pair of a state and an action has a step (pairs without a step)", float(missing), missing == 0,
                  "for the other pairs, the reward is `unseen` and all next states are equally likely"),
        Condition("every pair that was tried has at least 5 steps (fewest of a pair)", float(fewest), fewest >= 5,
                  "with fewer steps, the limits of the probabilities are wide"),
        Condition("rewards equal their means", None, None, "the intervals ignore noise in the rewards"),
    )  # fmt: skip
    return {
        "transitions": transitions, "rewards": means, "start": first, "counts": counts, "prior": weight, "level": level,
        "conditions": conditions,
    }  # fmt: skip


def _number(name: str, given: Any, least: int) -> int:
    if given is None:
        return least
    number = whole(name, given, 1)
    if number < least:
        raise SettingError(name, found=f"{number}", rule=f"at least {least}, because this number occurs in the steps")
    return number


def _check_table(table: dict[Any, Any]) -> None:
    """Raise an error if the states or actions of a Gymnasium table are not numbered from 0, or if a step is invalid."""
    rule = "P[state][action] as a list of (probability, next state, reward, end), counted from 0"
    refuse = lambda place, found: DataError(f"P{place}", found=found, rule=rule)
    if set(table) != set(range(len(table))):
        raise refuse("", f"states {', '.join(repr(own) for own in list(table)[:3])}, ...")
    actions = max(len(own) if isinstance(own, dict) else 0 for own in table.values())
    for state, own in table.items():
        if not isinstance(own, dict) or not own or set(own) != set(range(actions)):
            found = f"actions {list(own)[:5]}" if isinstance(own, dict) else f"a {type(own).__name__}"
            raise refuse(f"[{state}]", f"{found}, where another state has {actions} actions")
        for action, steps in own.items():
            for step in steps:
                try:
                    chance, following, reward, _ = step
                    right = np.isfinite(float(chance)) and np.isfinite(float(reward)) and following in table
                except (TypeError, ValueError):
                    right = False
                if not right:
                    raise refuse(f"[{state}][{action}]", f"the step {' '.join(repr(step).split())[:60]}")


def read_gymnasium(env: Any) -> tuple[Float[np.ndarray, "s a s"], Float[np.ndarray, "s a"], np.ndarray | None]:
    """Return transitions, mean rewards and the distribution of the first state of a Gymnasium environment.

    The argument is the environment or its name. If the environment does not store the distribution, return None for it.
    """
    if isinstance(env, str):
        try:
            import gymnasium
        except ImportError as error:
            raise MissingDataError("gymnasium", found="not installed", rule="naming an environment requires "
                "this package",
                                   remedy="install it with pip install 'lemmata[agents]'") from error  # fmt: skip
        try:
            env = gymnasium.make(env)
        except Exception as error:  # any error of Gymnasium about a name
            found = " ".join(str(error).split())[:100]
            raise SettingError("environment", found=found, rule="the name of an environment of Gymnasium") from error
    inner = getattr(env, "unwrapped", env)
    table = getattr(inner, "P", None)
    if not isinstance(table, dict) or not table:
        raise DataError(f"environment {type(inner).__name__}", found="no table of transitions P",
                        rule="a tabular environment, such as FrozenLake-v1, CliffWalking-v1 or Taxi-v4")  # fmt: skip
    _check_table(table)
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
    return transitions, rewards, start
