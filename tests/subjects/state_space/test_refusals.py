"""Bad input: every refusal is one line that names the input, what was found and the rule."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, LemmataError, PrecisionError, SettingError, ShapeError, UnknownNameError
from lemmata.subjects.state_space import (
    ContinuousSystem,
    DenseMatrix,
    DiagonalMatrix,
    DiagonalPlusLowRank,
    DiscreteSystem,
    convolve,
    discretise,
    final_states,
    impulse_response,
    legs,
    oscillators,
    reach,
    run,
    scan,
)

ONE = jnp.ones((1, 1))
LEAK = ContinuousSystem(DiagonalMatrix(-jnp.ones(1)), ONE, ONE)
STEP = discretise(LEAK, 0.1)

REFUSALS = {
    "a matrix that is not square": (lambda: DenseMatrix(jnp.ones((2, 3))), ShapeError, "state matrix"),
    "no states": (lambda: DiagonalMatrix(jnp.ones(0)), ShapeError, "poles"),
    "poles that are a matrix": (lambda: DiagonalMatrix(jnp.ones((2, 2))), ShapeError, "poles"),
    "a pole that is not finite": (lambda: DiagonalMatrix(jnp.array([jnp.nan])), DataError, "poles"),
    "a complex pole that is not finite": (lambda: DiagonalMatrix(jnp.array([complex(0, np.inf)])), DataError, "poles"),
    "half precision": (lambda: DiagonalMatrix(jnp.ones(2, jnp.float16)), PrecisionError, "float16"),
    "factors of other sizes": (
        lambda: DiagonalPlusLowRank(jnp.ones(3), jnp.ones((3, 1)), jnp.ones((3, 2))),
        ShapeError,
        "right factor",
    ),
    "a factor of another length": (
        lambda: DiagonalPlusLowRank(jnp.ones(3), jnp.ones((2, 1)), jnp.ones((2, 1))),
        ShapeError,
        "left factor",
    ),
    "B of another size": (
        lambda: ContinuousSystem(oscillators(3), ONE, jnp.ones((1, 3))),
        ShapeError,
        "input matrix B",
    ),
    "B that is a vector": (
        lambda: ContinuousSystem(oscillators(3), jnp.ones(3), jnp.ones((1, 3))),
        ShapeError,
        "input matrix B",
    ),
    "C of another size": (lambda: DiscreteSystem(oscillators(3), jnp.ones((3, 1)), ONE), ShapeError, "output matrix C"),
    "D of another size": (
        lambda: ContinuousSystem(LEAK.matrix, ONE, ONE, jnp.ones((2, 1))),
        ShapeError,
        "direct path D",
    ),
    "no step": (lambda: discretise(LEAK, 0.0), SettingError, "step"),
    "a step that is not finite": (lambda: discretise(LEAK, float("nan")), SettingError, "step"),
    "an unknown method": (lambda: discretise(LEAK, 0.1, "simpson"), UnknownNameError, "zero_order_hold"),
    "length 0, run": (lambda: run(STEP, jnp.ones((0, 1))), ShapeError, "sequence"),
    "length 0, scan": (lambda: scan(STEP, jnp.ones((0, 1))), ShapeError, "sequence"),
    "length 0, convolve": (lambda: convolve(impulse_response(STEP, 3), jnp.ones((0, 1))), ShapeError, "sequence"),
    "length 0, response": (lambda: impulse_response(STEP, 0), SettingError, "length"),
    "length 0, states": (lambda: final_states(STEP, jnp.ones((2, 0, 1))), SettingError, "length"),
    "a length that is no number": (lambda: reach(STEP, True), SettingError, "length"),
    "other channels": (lambda: run(STEP, jnp.ones((5, 2))), ShapeError, r"\(length, 1\)"),
    "one axis": (lambda: run(STEP, jnp.ones(5)), ShapeError, r"\(length, 1\)"),
    "other lengths": (lambda: convolve(impulse_response(STEP, 3), jnp.ones((4, 1))), ShapeError, "response"),
    "a cell that is not finite": (lambda: run(STEP, jnp.array([[1.0], [jnp.inf]])), DataError, "finite"),
    "no oscillator": (lambda: oscillators(0), SettingError, "states"),
    "no Legendre state": (lambda: legs(0), SettingError, "states"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_bad_input_is_refused_in_one_line(name):
    call, error, words = REFUSALS[name]
    with pytest.raises(LemmataError, match=words) as caught:
        call()
    assert type(caught.value) is error
    assert "rule:" in str(caught.value)
    assert "\n" not in str(caught.value)
