"""Results for a Markov decision process: values, best policies, losses of greedy policies, and fixed points."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.answers import Condition
from lemmata.printable import preformatted

_SHOWN = 12


def by_state(numbers: Float[np.ndarray, " s"], name: str) -> Any:
    """Return an Altair chart with one bar for each state."""
    import altair as alt

    rows = [{"state": state, name: value} for state, value in enumerate(numbers.tolist())]
    chart = alt.Chart(alt.Data(values=rows)).mark_bar().encode(
        x=alt.X("state:O", axis=alt.Axis(labelAngle=0, grid=False)), y=alt.Y(f"{name}:Q", axis=alt.Axis(grid=False))
    )  # fmt: skip
    return chart.properties(width=320, height=200)


def certain(error: float, numbers: np.ndarray, name: str = "values") -> Condition:
    """Return the condition that an error is small, relative to the largest absolute value of the numbers."""
    share = error / (float(np.abs(numbers).max()) or 1.0)
    return Condition(f"the {name} are exact (error divided by the largest value)", share, share <= 1e-6,
                     "for exact numbers, use a discount nearer to 0 or a shorter horizon")  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class PolicyValue:
    """The value of a policy.

    Args:
        values: the expected discounted sum of rewards from each state.
        action_values: the expected discounted sum after each first action in each state.
        expected: the mean value over the distribution of the first state.
        error: an upper bound on the distance of the values from the exact values, computed from the residual of the
            linear equation for the values.
        conditions: the conditions for the results.
        claims: names of the claims that state the difference between the values of two policies.
    """

    values: Float[np.ndarray, " s"]
    action_values: Float[np.ndarray, "s a"]
    expected: float
    error: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = ("interaction.policies.performance_difference",)

    def __str__(self) -> str:
        low, high = self.values.min(), self.values.max()
        line = f"expected value at the start: {self.expected:.4g}; values of the states: {low:.4g} to {high:.4g}"
        return "\n".join([line, *(f"- {own}" for own in self.conditions if own.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the value of each state."""
        return by_state(self.values, "value")


@dataclasses.dataclass(frozen=True, eq=False)
class Advantage:
    """The gain in value of each first action over a policy, if the policy chooses all later actions.

    NumPy converts this object to the array `gains`.

    Args:
        gains: the gain of each action in each state. In each state, the mean gain over the actions of the policy is 0.
        error: an upper bound on the distance of the gains from the exact gains, computed from the residual of the
            linear equation for the values.
        improvable: the number of states in which some action has a positive gain.
        conditions: the conditions for the results.
        claims: names of the claims that state how gains change the value.
    """

    gains: Float[np.ndarray, "s a"]
    error: float
    improvable: int
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = ("interaction.policies.performance_difference",)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.gains, dtype=dtype, copy=copy)

    def __str__(self) -> str:
        state, action = np.unravel_index(int(self.gains.argmax()), self.gains.shape)
        line = f"no action gains, to within {self.error:.1g}: the policy is optimal"
        if self.improvable:
            line = (f"the largest gain is {self.gains.max():.4g}: action {action} in state {state}; "
                    f"some action gains in {self.improvable} of {len(self.gains)} states")  # fmt: skip
        return "\n".join([line, *(f"- {own}" for own in self.conditions if own.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the gain of each action in each state."""
        import altair as alt

        rows = [
            {"state": state, "action": action, "gain": gain}
            for state, gains in enumerate(self.gains.tolist())
            for action, gain in enumerate(gains)
        ]
        chart = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=60).encode(
            x=alt.X("state:O", axis=alt.Axis(labelAngle=0, grid=False)), y=alt.Y("gain:Q", axis=alt.Axis(grid=False)),
            color=alt.Color("action:N", title="action"), shape="action:N",
            tooltip=["state:O", "action:N", alt.Tooltip("gain:Q", format=".4g")],
        )  # fmt: skip
        return chart.properties(width=320, height=200)


@dataclasses.dataclass(frozen=True, eq=False)
class OptimalPolicy:
    """An optimal policy, found by policy iteration.

    Args:
        policy: the action in each state.
        values: the expected discounted sum of rewards from each state under this policy.
        action_values: the value of each first action in each state.
        expected: the mean value over the distribution of the first state.
        error: an upper bound on the distance of the values from the optimal values, computed by a sweep of value
            iteration.
        rounds: the number of rounds of policy iteration.
        ties: the number of states in which several actions are best.
        conditions: the conditions for the results.
        claims: names of the claims that state how values and policies are related.
    """

    policy: Int[np.ndarray, " s"]
    values: Float[np.ndarray, " s"]
    action_values: Float[np.ndarray, "s a"]
    expected: float
    error: float
    rounds: int
    ties: int
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = ("interaction.policies.performance_difference", "interaction.policies.greedy_loss")

    def __str__(self) -> str:
        rounds = f"{self.rounds} round{'s' if self.rounds > 1 else ''} of policy iteration"
        lines = [f"optimal expected value at the start: {self.expected:.4g}, after {rounds}", "state  action     value"]
        numbers = zip(self.policy[:_SHOWN], self.values[:_SHOWN], strict=True)
        lines += [f"{state:>5}{action:>8}{value:>10.4g}" for state, (action, value) in enumerate(numbers)]
        left = len(self.policy) - _SHOWN
        lines += [f"and {left} more states"] if left > 0 else []
        states = f"{self.ties} state{'' if self.ties == 1 else 's'}"
        tied = f"; other actions are as good in {states}" if self.ties else ""
        rounded = self.error <= 1e-9 * float(np.abs(self.values).max())
        near = "to rounding" if rounded else f"to within {self.error:.1g}"
        lines.append(f"the values are optimal {near}{tied}")
        return "\n".join([*lines, *(f"- {own}" for own in self.conditions if own.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the value and the action in each state."""
        import altair as alt

        rows = [
            {"state": state, "action": int(action), "value": float(value)}
            for state, (action, value) in enumerate(zip(self.policy, self.values, strict=True))
        ]
        return (
            alt.Chart(alt.Data(values=rows))
            .mark_bar()
            .encode(
                x=alt.X("state:O", axis=alt.Axis(labelAngle=0, grid=False)),
                y=alt.Y("value:Q", axis=alt.Axis(grid=False)),
                color=alt.Color("action:N", title="action"),
                tooltip=["state:O", "action:N", alt.Tooltip("value:Q", format=".4g")],
            )
            .properties(width=320, height=200)
        )


@dataclasses.dataclass(frozen=True, eq=False)
class GreedyLoss:
    """The loss of a policy that is greedy for estimated values.

    Args:
        policy: the greedy action in each state; among equally good actions, the first action.
        loss: the optimal value minus the value of this policy, in each state.
        error: the largest absolute error of an estimate.
        bound: the bound 2 discount error / (1 - discount), which no loss exceeds.
        shifted_bound: the same formula with the largest error that remains if the best constant is added to all
            estimates.
        conditions: the conditions for the results.
        claims: names of the claims that state the bound.
    """

    policy: Int[np.ndarray, " s"]
    loss: Float[np.ndarray, " s"]
    error: float
    bound: float
    shifted_bound: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = ("interaction.policies.greedy_loss",)

    def __str__(self) -> str:
        lines = [
            f"the greedy policy loses up to {self.loss.max():.4g} in a state",
            f"bound {self.bound:.4g} for estimates with errors up to {self.error:.4g}; "
            f"{self.shifted_bound:.4g} after the best constant is added",
        ]
        return "\n".join([*lines, *(f"- {own}" for own in self.conditions if own.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the loss in each state, with the bounds as lines."""
        import altair as alt

        bounds = [{"bound": self.bound}, {"bound": self.shifted_bound}]
        lines = alt.Chart(alt.Data(values=bounds)).mark_rule(strokeDash=[4, 3]).encode(y="bound:Q")
        return by_state(self.loss, "loss") + lines


@dataclasses.dataclass(frozen=True, eq=False)
class TDSolution:
    """The values to which temporal-difference learning with linear features converges.

    Args:
        weights: the weights of the features.
        fitted: the linear combination of the features with these weights, in each state.
        values: the exact values of the policy.
        law: the stationary distribution: the share of time that the policy spends in each state in the long run.
        error: the root mean square error of the fitted values over this distribution.
        best: the root mean square error of the best linear fit over this distribution.
        bound: the bound best / sqrt(1 - discount²), which the error does not exceed.
        conditions: the conditions for the results.
        claims: names of the claims that state the bound.
    """

    weights: Float[np.ndarray, " k"]
    fitted: Float[np.ndarray, " s"]
    values: Float[np.ndarray, " s"]
    law: Float[np.ndarray, " s"]
    error: float
    best: float
    bound: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = (
        "interaction.values.temporal_difference_error",
        "interaction.values.updates_of_one_state",
    )

    def __str__(self) -> str:
        line = f"error {self.error:.4g} and bound {self.bound:.4g}; the best linear fit has the error {self.best:.4g}"
        return "\n".join([line, *(f"- {own}" for own in self.conditions if own.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of fitted against exact values. The area of a point is the state's share of time."""
        import altair as alt

        numbers = zip(self.values.tolist(), self.fitted.tolist(), self.law.tolist(), strict=True)
        rows = [{"state": k, "value": v, "fitted": f, "share": p} for k, (v, f, p) in enumerate(numbers)]
        ends = [float(min(self.values.min(), self.fitted.min())), float(max(self.values.max(), self.fitted.max()))]
        line = alt.Chart(alt.Data(values=[{"value": end, "fitted": end} for end in ends]))
        diagonal = line.mark_line(strokeDash=[4, 3], color="#999").encode(x="value:Q", y="fitted:Q")
        points = (
            alt.Chart(alt.Data(values=rows))
            .mark_circle()
            .encode(
                x=alt.X("value:Q", title="value of the policy", axis=alt.Axis(grid=False)),
                y=alt.Y("fitted:Q", title="value by temporal differences", axis=alt.Axis(grid=False)),
                size=alt.Size("share:Q", title="share of time"),
                tooltip=["state:Q", alt.Tooltip("value:Q", format=".4g"), alt.Tooltip("fitted:Q", format=".4g")],
            )
        )
        return alt.layer(diagonal, points).properties(width=240, height=240)
