"""Attacks: worst cases in closed form, what the ball and the box allow, the public code's flaw, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError, ShapeError
from lemmata.subjects.adversaries import projected_gradient

W = jnp.array([1.0, -2.0, 0.5])
X = jax.random.normal(jax.random.key(0), (6, 3))


@pytest.mark.parametrize(("norm", "gain"), [("linf", 3.5), ("l2", float(jnp.linalg.norm(W)))])
def test_on_linear_losses_the_dual_norm_is_reached(norm, gain):
    attacked = projected_gradient(lambda z: z @ W, X, 0.3, norm=norm)
    assert np.allclose((attacked - X) @ W, 0.3 * gain, atol=1e-12)


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_the_ball_and_the_box_hold_from_a_random_start_too(norm):
    losses = lambda z: jnp.sum(jnp.sin(5 * z), axis=1)
    attacked = projected_gradient(losses, X, 0.4, 15, norm=norm, start=jax.random.key(1), box=(-0.5, 0.8))
    within = jnp.clip(X, -0.5, 0.8)
    assert jnp.any(within != X)
    assert attacked.min() >= -0.5
    assert attacked.max() <= 0.8
    order = np.inf if norm == "linf" else 2
    assert jnp.linalg.norm(attacked - within, order, axis=1).max() <= 0.4 + 1e-12
    assert jnp.all(losses(attacked) >= losses(within))


def test_it_is_never_worse_than_no_attack_and_near_the_best_of_a_grid():
    losses = lambda z: -jnp.sum((z - 0.1) ** 2, axis=1)  # the top is inside the ball: steps must not jump over it
    x = jnp.array([[0.0, 0.2], [0.1, 0.1]])
    attacked = projected_gradient(losses, x, 0.3, 40)
    assert jnp.all(losses(attacked) >= losses(x))
    assert jnp.all(losses(attacked) > -3e-4)
    curved = lambda z: jnp.sum(z**2, axis=1) + jnp.sin(3 * z[:, 0])
    points = np.stack(np.meshgrid(*[np.linspace(-0.3, 0.3, 61)] * 2), axis=-1).reshape(-1, 2)
    best = [float(curved(row + points).max()) for row in x]
    assert np.all(np.asarray(curved(projected_gradient(curved, x, 0.3, 40))) >= 0.98 * np.asarray(best))


def test_the_public_attack_leaves_the_ball_and_turns_no_corner():
    losses = lambda z: z @ W
    wide = projected_gradient(losses, X, 0.3, start=jax.random.key(2), published=True)
    farthest = jnp.abs(wide - X).max()
    assert 0.3 < farthest <= 0.6
    # a loss whose slope turns: one step along the first slope passes the top
    bent = lambda z: -jnp.abs(z[:, 0] - 0.05)
    x = jnp.zeros((1, 1))
    assert bent(projected_gradient(bent, x, 0.3, published=True)) < bent(x)
    assert bent(projected_gradient(bent, x, 0.3)) >= bent(x)


def test_it_may_be_traced():
    found = jax.jit(lambda r: projected_gradient(lambda z: z @ W, X, r))(0.2)
    assert np.allclose(found, projected_gradient(lambda z: z @ W, X, 0.2))


@pytest.mark.parametrize(
    ("change", "word"),
    [({"norm": "l1"}, "norm"), ({"radius": -1.0}, "radius"), ({"radius": float("inf")}, "radius"),
     ({"steps": 0}, "steps"), ({"box": (1.0, 0.0)}, "box")],
)  # fmt: skip
def test_what_is_refused(change, word):
    with pytest.raises(SettingError, match=word):
        projected_gradient(**{"losses": lambda z: z @ W, "x": X, "radius": 0.1} | change)


def test_shapes_that_are_refused():
    with pytest.raises(ShapeError, match="losses"):
        projected_gradient(lambda z: jnp.sum(z), X, 0.1)
    with pytest.raises(ShapeError, match="inputs"):
        projected_gradient(lambda z: z, X[0], 0.1)
