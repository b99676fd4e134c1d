"""What is remembered of shapes: found once for each combination, and never taken for another."""

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.architectures._shapes import of_shapes
from lemmata.networks import EmpiricalKernel


def test_a_fact_is_found_once_for_each_combination():
    calls = []

    @of_shapes
    def fact(tree, setting):
        calls.append(setting)
        return tree["x"].shape, str(tree["x"].dtype), setting

    for _ in range(2):
        assert fact({"x": jnp.ones((2, 3))}, 1) == ((2, 3), "float64", 1)
        assert fact({"x": 5 * np.ones((2, 3))}, 1) == ((2, 3), "float64", 1)
        assert fact({"x": jnp.ones((2, 4))}, 1) == ((2, 4), "float64", 1)
        assert fact({"x": jnp.ones((2, 3), jnp.float32)}, 1) == ((2, 3), "float32", 1)
        assert isinstance(fact({"x": jnp.ones((2, 3))}, 1.0)[2], float)  # 1.0 equals 1, and is another setting
    assert calls == [1, 1, 1, 1.0]
    with jax.enable_x64(False):
        fact({"x": jnp.ones((2, 3), jnp.float32)}, 1)
    assert len(calls) == 5
    for _ in range(2):
        assert fact({"x": jnp.ones(1)}, {"of": slice(1)}["of"]) is not None
    assert len(calls) == 7  # a slice has no hash in this Python: found anew each time


def test_another_number_of_outputs_is_another_kernel():
    x = jnp.eye(3)
    for outputs in (2, 4):
        kernel = EmpiricalKernel(jnp.dot, jnp.ones((outputs, 3)))
        assert kernel.gram(x).shape == (3, 3, outputs, outputs)
        np.testing.assert_allclose(kernel.gram(x, outputs="mean"), np.eye(3))
