"""Products on several processes: equal to one process's, and no process left behind whatever ends them."""

import multiprocessing
import os
import signal
import threading

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, MemoryPlanError, SettingError, ShapeError, SolverError
from lemmata.kernels import RBF, AbstractKernel, Linear, Matern
from lemmata.solvers import KernelOperator, ProcessOperator, conjugate_gradients

RNG = np.random.default_rng(0)
X, V = jnp.asarray(RNG.normal(size=(257, 3))), jnp.asarray(RNG.normal(size=(257, 2)))


class Failing(AbstractKernel):
    """Linear, and an error where it is asked for more than one row at a time."""

    def __call__(self, x, y):
        return jnp.sum(x * y)

    def cross(self, x, y):
        raise ValueError("no rows today")


def again_and_again(operator):
    for _ in range(10_000):
        operator(V)


def interrupt_until(ended):
    """Once, and again after a while: an interruption within a callback, where Python ignores it, is lost."""
    patience = 0.05
    while not ended.wait(patience):
        os.kill(os.getpid(), signal.SIGINT)
        patience = 20.0


def alive(children):
    return [child.pid for child in children if child.is_alive()]


@pytest.mark.parametrize("case", ["float64", "float32"])
def test_products_are_those_of_one_process(case):
    kernel, x, v = RBF(1.5) + 0.5 * Matern(1.5, 2.0), X.astype(case), V.astype(case)
    alone = KernelOperator(kernel, x, block=50)
    with ProcessOperator(kernel, x, 2, block=50) as operator:
        children = list(operator._processes)
        assert len(alive(children)) == 2
        for given in (v, v[:, 0]):  # vectors of either shape, one after the other
            found = operator(given)
            assert found.dtype == given.dtype
            bound = 257 * jnp.finfo(case).eps * alone(jnp.abs(given))  # the kernel is positive
            assert np.all(np.abs(found - alone(given)) <= bound)
        np.testing.assert_array_equal(operator.columns(jnp.array([3, 5])), alone.columns(jnp.array([3, 5])))
        np.testing.assert_array_equal(operator.diagonal(), alone.diagonal())
        solved = conjugate_gradients(operator, v, 1.0)
        assert float(solved.residual) <= 2e-4
        with pytest.raises(ShapeError, match="v"):
            operator(v[1:])
    assert not alive(children)
    with pytest.raises(SettingError, match="ended"):
        operator(v)


@pytest.mark.parametrize("case", ["an error", "a death", "an interruption"])
def test_what_ends_a_product_is_named_and_ends_the_processes(case):
    with ProcessOperator(Failing() if case == "an error" else Linear(), X, 2, block=1) as operator:
        children = list(operator._processes)
        if case == "a death":
            os.kill(children[1].pid, signal.SIGKILL)
            children[1].join()
            with pytest.raises(SolverError, match=r"process 2 of the 2 .* exit code -9"):
                operator(V)
        elif case == "an error":
            with pytest.raises(SolverError, match=r"process \d of the 2 .* ValueError: no rows today"):
                operator(V)
        else:  # as Ctrl-C does, while a product is under way
            operator(V)
            ended = threading.Event()
            before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
            threading.Thread(target=interrupt_until, args=(ended,), daemon=True).start()
            with pytest.raises(KeyboardInterrupt):
                again_and_again(operator)
            ended.set()
            signal.signal(signal.SIGINT, before)
        assert not alive(children)


def test_wrong_arguments_are_refused(monkeypatch):
    for processes in (0, True):
        with pytest.raises(SettingError, match="processes"):
            ProcessOperator(RBF(), X, processes)
    with pytest.raises(SettingError, match="block"):
        ProcessOperator(RBF(), X, 2, block=0)
    with pytest.raises(DataError, match="points x"):
        ProcessOperator(RBF(), X.at[0, 0].set(jnp.nan), 2)
    monkeypatch.setattr("lemmata.solvers._processes.available_bytes", lambda: 2**20)
    with pytest.raises(MemoryPlanError, match="GiB"):
        ProcessOperator(RBF(), X, 2)


def test_a_kernel_without_a_name_cannot_be_sent():
    class Local(Failing):
        pass

    with pytest.raises(SettingError, match=r"kernel; .*Local.*other processes; remedy: .* top level of a module"):
        ProcessOperator(Local(), X, 1)
    assert not multiprocessing.active_children()
