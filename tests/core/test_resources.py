"""Threads of PyTorch and freed memory: set for a while, and given back."""

import ctypes
import os
import pathlib

import numpy as np
import pytest
import threadpoolctl

from lemmata.core import all_blas_threads, available_bytes, one_blas_thread, one_torch_thread, release_freed
from lemmata.limits import Limit
from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations._run import _ONE_THREAD, _is_small

STATM = pathlib.Path("/proc/self/statm")


def test_pytorch_has_one_thread_for_a_while():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_torch_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
        with pytest.raises(KeyError), one_torch_thread():
            raise KeyError
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def threads(blas):
    """The numbers of threads of libraries of linear algebra, or of all others."""
    return {own["num_threads"] for own in threadpoolctl.threadpool_info() if (own["user_api"] == "blas") == blas}


@pytest.mark.parametrize(("stated", "number"), [("3", 3), ("0", 2), ("many", 2), (None, 2)])
def test_large_products_have_as_many_threads_as_the_environment_says(monkeypatch, stated, number):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if stated is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", stated)
    others = threads(blas=False)
    with one_blas_thread():
        assert threads(blas=True) == {1}
        with all_blas_threads():
            assert threads(blas=True) == {number}
            assert threads(blas=False) == others
        assert threads(blas=True) == {1}


@pytest.mark.parametrize(("machine", "left", "free"), [(50, (70, 60), 50), (80, (70, 60), 60), (80, (), 80)])
def test_available_memory_is_the_least_that_the_machine_and_all_limits_leave(monkeypatch, machine, left, free):
    monkeypatch.setattr("lemmata.core._memory._machine_bytes", lambda: machine)
    monkeypatch.setattr("lemmata.core._memory.limits", lambda: [Limit("a limit", 100, own, True) for own in left])
    assert available_bytes() == free


@pytest.mark.parametrize("small", [True, False])
def test_one_thread_is_for_small_networks(small):
    rows = 50
    weights = np.ones((3, 1)) if small else np.ones((3, int(_ONE_THREAD / rows / 3) + 1))
    trained = read_trained((lambda own, x: (x @ own).sum(1, keepdims=True), weights), np.ones((rows, 3)), np.ones(rows))
    assert _is_small(trained) == small


@pytest.mark.skipif(
    not STATM.exists() or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc can return freed memory"
)
def test_freed_memory_is_returned():
    """Blocks below the size that glibc maps by itself stay in its pool if a later block is alive."""
    resident = lambda: int(STATM.read_text().split()[1]) * 4096
    blocks = [bytes(100_000) for _ in range(1000)]
    for block in blocks:
        assert block[-1] == 0
    last = blocks.pop()
    full = resident()
    del block
    blocks.clear()
    if resident() < full - 60e6:
        pytest.skip("the C library has returned this memory by itself")
    release_freed()
    assert resident() < full - 60e6
    assert len(last) == 100_000
