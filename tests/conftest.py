"""Float64 for theory, and one BLAS thread a worker: two workers with two threads each would fight over two cores."""

import jax
import pytest
import scipy.linalg  # noqa: F401, loads the BLAS that is limited below
from threadpoolctl import threadpool_limits

jax.config.update("jax_enable_x64", True)
threadpool_limits(1, user_api="blas")


@pytest.fixture
def key():
    return jax.random.key(20_240_501)
