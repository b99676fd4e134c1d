"""Times of rows: early stopping as its start, wrong labels found, the loss that it reports, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.kernels import RBF, gram
from lemmata.solvers import row_time_coefficients
from lemmata.subjects.adversaries import learn_row_times, projected_gradient
from lemmata.subjects.adversaries._spurious_rows import spurious_rows

FLIPPED = 4  # of 24 rows: a common time has to fit them, too


def rows():
    keys = jax.random.split(jax.random.key(3))
    law = (10, 1.0, 2.0, 0.1)
    x, y = spurious_rows(keys[0], 24, *law)
    return x, y.at[:FLIPPED].multiply(-1), *spurious_rows(keys[1], 16, *law)


KERNEL = RBF(3.0)


def test_it_begins_at_the_best_common_time_and_keeps_the_best_times():
    x, y, x_val, y_val = rows()
    fit = learn_row_times(KERNEL, x, y, x_val, y_val, 0.2, steps=15)
    assert fit.losses[0] == pytest.approx(float(fit.grid_losses.min()))
    assert fit.common_time == fit.grid[jnp.argmin(fit.grid_losses)]
    assert fit.losses.min() < 0.75 * fit.losses[0]
    # the coefficients are those of the times, and the loss that of the attack on them, by a loop of its own
    c = row_time_coefficients(gram(KERNEL, x), fit.times, y)
    assert np.allclose(c, fit.coefficients)
    losses = lambda z: (gram(KERNEL, z, x) @ c - y_val) ** 2 / 2
    attacked = projected_gradient(losses, x_val, 0.2, 10)
    assert losses(attacked).mean() == pytest.approx(float(fit.losses.min()), rel=1e-9)


def test_rows_with_wrong_labels_stop_first():
    x, y, x_val, y_val = rows()
    fit = learn_row_times(KERNEL, x, y, x_val, y_val, 0.3, steps=30)
    logs = jnp.log(fit.times)
    assert logs[:FLIPPED].mean() < logs[FLIPPED:].mean() - 1


def test_what_is_refused():
    x, y, x_val, y_val = rows()
    with pytest.raises(ShapeError, match="training rows"):
        learn_row_times(KERNEL, x, y[:-1], x_val, y_val, 0.1)
    with pytest.raises(ShapeError, match="validation rows"):
        learn_row_times(KERNEL, x, y, x_val[:, :-1], y_val, 0.1)
    with pytest.raises(SettingError, match="steps"):
        learn_row_times(KERNEL, x, y, x_val, y_val, 0.1, steps=-1)
    with pytest.raises(SettingError, match="learning_rate"):
        learn_row_times(KERNEL, x, y, x_val, y_val, 0.1, learning_rate=0.0)
    with pytest.raises(DataError, match="validation rows"):
        learn_row_times(KERNEL, x, y, x_val.at[0, 0].set(jnp.nan), y_val, 0.1)
