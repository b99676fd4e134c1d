"""The properties of an optimiser, by experiment."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax

from lemmata.errors import SettingError
from lemmata.printable import preformatted

from ._maps import deviations
from ._probes import decay_of, impulse_response, longest_step, stable_curvature, step_shape
from ._updates import updates_of

_SHAPE = (6, 6)
_LARGE = (64, 48)
_HOLDS = 1e-3


@dataclasses.dataclass(frozen=True)
class Profile:
    """The result of `optimiser_profile`.

    The learning rate and its schedule are part of the transformation, so all values include them.

    Args:
        symmetries: after training in other coordinates, the distance of the end from its expected place, in units of
            the distance that training covered. The distance is zero up to eps and rounding if the group consists of
            symmetries.
        impulse: the weight of a gradient in a step, for each age of the gradient from 0 on. The weight is exact if the
            numerator is linear in the gradients; otherwise it is the mean over random signs of gradients.
        longest_step: the largest root mean square of a step that was found over gradients of any size. It is infinite
            if steps grow with the gradients.
        steps: the shape of a step. "linear": linear in the gradients; "sign": all entries have one size; "orthogonal":
            nearly equal singular values; "bounded": independent of the unit of the loss; "free": none of these.
        decay: "none"; "box", decoupled decay with bounded steps; "ridge", coupled decay, or decoupled decay with
            linear steps; or "other".
        strength: for a box, half of the side of the box. It is the longest constant step divided by the share of a
            weight that decays in a step. For a ridge, lambda in lambda |w|²/2. NaN for other kinds of decay.
        stable_curvature: the largest h for which steps on h |w|²/2 stay bounded; infinite if every h gives bounded
            steps.
        state_bytes: the bytes of state per parameter, for a matrix of 64 rows and 48 columns.
    """

    symmetries: dict[str, float]
    impulse: np.ndarray
    longest_step: float
    steps: str
    decay: str
    strength: float
    stable_curvature: float
    state_bytes: float

    @property
    def mean_age(self) -> float:
        """The mean age of the gradients in a step, weighted as in the step, within the window."""
        return float(self.impulse @ np.arange(len(self.impulse)) / self.impulse.sum())

    def commutes(self, group: str) -> bool:
        """Whether the optimiser commutes with a group, named as in `symmetries`: the deviation is below 1/1000.

        Raises:
            SettingError: for an unknown name.
        """
        if group not in self.symmetries:
            raise SettingError(f"group {group!r}", rule=f"one of {', '.join(self.symmetries)}")
        return self.symmetries[group] < _HOLDS

    def __str__(self) -> str:
        held = [name for name in self.symmetries if self.commutes(name)]
        longest = "grows with the gradient" if np.isinf(self.longest_step) else f"{self.longest_step:.4g}"
        strength = {"box": f", |w| <= {self.strength:.4g}", "ridge": f", lambda {self.strength:.4g}"}.get(
            self.decay, ""
        )
        stable = "every" if np.isinf(self.stable_curvature) else f"up to {self.stable_curvature:.4g}"
        return "\n".join(
            [
                f"commutes with     {', '.join(held) or 'nothing that was tried'}",
                f"steps             {self.steps}; longest {longest}",
                f"memory            mean age {self.mean_age:.3g} steps, {self.state_bytes:.3g} bytes per parameter",
                f"decay             {self.decay}{strength}",
                f"stable curvature  {stable}",
            ]
        )

    def _repr_html_(self) -> str:
        return preformatted(self)


def optimiser_profile(transform: optax.GradientTransformation, *, window: int = 200, seed: int = 0) -> Profile:
    """Find by experiment what an optax transformation does, using only its `init` and `update`.

    A matrix of 6 rows and columns is trained on random losses and receives chosen gradients. The profile shows which
    changes of coordinates have no effect, how long the optimiser remembers, and how long its steps can be. It also
    shows how the optimiser decays weights, on which quadratics it is stable, the shape of its steps, and what it
    stores. Methods that treat vectors differently from matrices are profiled on matrices.

    Args:
        transform: the optimiser, with its learning rate; a schedule is profiled from its beginning.
        window: the number of steps in which the memory and the longest step are searched. Adam's longest step needs
            several times 1/(1 - b2) steps.
        seed: the random seed of the losses, maps and gradients.

    Raises:
        SettingError: for an object without `init` and `update`, a window below 2, or an optimiser whose updates are not
            finite or all 0.

    >>> profile = optimiser_profile(optax.sgd(0.5))
    >>> profile.steps, profile.decay, round(profile.stable_curvature, 1), profile.mean_age
    ('linear', 'none', 4.0, 0.0)
    >>> profile.commutes("all rotations"), profile.commutes("unit of the loss")
    (True, False)
    """
    if not (hasattr(transform, "init") and hasattr(transform, "update")):
        raise SettingError(
            "optimiser",
            found=type(transform).__name__,
            rule="an optax transformation, with init(params) and update(...)",
        )
    if window < 2:
        raise SettingError("window", found=window, rule="a whole number of at least 2 steps")
    impulse = np.asarray(impulse_response(transform, _SHAPE, seed, window), float)
    if not np.isfinite(impulse).all():
        found, remedy = "updates that are not finite", "check the learning rate and its schedule"
        raise SettingError("optimiser", found=found, rule="finite updates for finite gradients", remedy=remedy)
    longest = longest_step(transform, _SHAPE, seed, window)
    if longest == 0 and not impulse.any():
        found, remedy = f"updates that are all 0 for {window} steps", "pass a learning rate above 0, or a larger window"
        raise SettingError("optimiser", found=found, rule="updates that depend on the gradients", remedy=remedy)
    shape = step_shape(transform, _SHAPE, seed)
    impulse = np.where(np.abs(impulse) > 1e-9 * np.abs(impulse).max(), impulse, 0.0)
    decay, strength = _limit(*decay_of(transform, _SHAPE, seed), impulse, longest, transform)
    state = jax.eval_shape(transform.init, jnp.zeros(_LARGE))
    stored = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    return Profile(
        symmetries=deviations(transform, _SHAPE, seed),
        impulse=impulse,
        longest_step=longest,
        steps=shape,
        decay=decay,
        strength=strength,
        stable_curvature=stable_curvature(transform),
        state_bytes=stored / np.prod(_LARGE),
    )


def _limit(
    kind: str, value: float, impulse: np.ndarray, longest: float, transform: optax.GradientTransformation
) -> tuple[str, float]:
    """Name a decay by its limit. Decoupled decay leads to a box if steps are bounded, and to a ridge if steps are
    linear.
    """
    if kind == "coupled":
        return "ridge", value
    if kind != "decoupled":
        return kind, np.nan
    if np.isinf(longest):
        return "ridge", value / float(
            impulse.sum()
        )  # a constant gradient g moves by sum(impulse) g, the decay by value w
    # where weights no longer move at the edge, the gradient is constant: the step is then that of a long constant run
    constant = jnp.ones((400, *_SHAPE))
    last = updates_of(transform, constant)[-1]
    return "box", float(jnp.abs(last).max()) / value
