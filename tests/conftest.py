"""Float64 for theory, and one BLAS thread a worker: two workers with two threads each would fight over two cores."""

import jax
import pytest

from lemmata.core import one_blas_thread

jax.config.update("jax_enable_x64", True)
one_blas_thread().__enter__()


@pytest.fixture(scope="module", autouse=True)
def forget_compilations():
    """Compiled functions are kept to the end of a file, not of the run, which would take many gigabytes."""
    yield
    jax.clear_caches()


@pytest.fixture
def key():
    return jax.random.key(20_240_501)
