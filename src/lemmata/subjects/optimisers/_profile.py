"""The properties of an optimiser, measured by experiments."""

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
        symmetries: for each group of changes of coordinates, the deviation of the optimiser from commuting with the
            group. The deviation is the distance between the end of training in other coordinates and the expected end,
            divided by the distance that training covered. For symmetries, the deviation is 0 up to eps and rounding.
        impulse: the weight of a gradient in a step, for each age of the gradient from 0 on. The weight is exact if the
            numerator of the step is linear in the gradients. Otherwise the weight is a mean over random signs.
        longest_step: the largest root mean square of a step that the search found over gradients of any size, or
            infinity if steps grow with the gradients.
        steps: the shape of a step. "linear": linear in the gradients; "sign": all entries have one size; "orthogonal":
            nearly equal singular values; "bounded": independent of the unit of the loss; "free": none of these.
        decay: "none"; "box", decoupled decay with bounded steps; "ridge", coupled decay, or decoupled decay with
            linear steps; or "other".
        strength: for a box, half of the side of the box, which is the longest constant step divided by the share of a
            weight that decays in a step. For a ridge, the lambda in lambda |w|²/2. NaN for other kinds of decay.
        stable_curvature: the largest h for which steps on h |w|²/2 stay bounded, or infinity if steps are bounded for
            every tested h.
        state_bytes: the number of bytes of state per parameter, for a matrix of 64 rows and 48 columns.
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
        """The mean age of the gradients within the window, with the weights of the gradients in a step."""
        return float(self.impulse @ np.arange(len(self.impulse)) / self.impulse.sum())

    def commutes(self, group: str) -> bool:
        """Return whether the optimiser commutes with a group of `symmetries`: whether the deviation is below 1/1000.

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
    """Measure the properties of an optax transformation by experiments, which only use its `init` and `update`.

    The optimiser trains a matrix of 6 rows and columns on a random loss, and receives chosen gradients. The profile
    contains the changes of coordinates with which the optimiser commutes, the weights of past gradients, and the
    longest step. The profile also contains the kind of weight decay, the shape of steps, the size of the state, and the
    largest curvature for which the optimiser is stable. For methods that treat vectors differently from matrices, the
    profile describes the steps on matrices.

    Args:
        transform: the optimiser, with its learning rate. With a schedule, the experiments begin at its first step.
        window: the number of steps for the weights of past gradients and for the longest step. Adam's longest step
            needs several times 1/(1 - b2) steps.
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
    """Return the name of a decay by its effect, and the strength. Decoupled decay is a box constraint if steps are
    bounded, and a ridge penalty if steps grow with the gradients.
    """
    if kind == "coupled":
        return "ridge", value
    if kind != "decoupled":
        return kind, np.nan
    if np.isinf(longest):
        return "ridge", value / float(
            impulse.sum()
        )  # a constant gradient g moves by sum(impulse) g, the decay by value w
    # at the edge of the box, weights do not change and the gradient is constant, so the step is that of a constant run
    constant = jnp.ones((400, *_SHAPE))
    last = updates_of(transform, constant)[-1]
    return "box", float(jnp.abs(last).max()) / value
