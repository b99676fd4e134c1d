import math
import time

import numpy as np
import pytest

from lemmata.workflows.studies import _training
from lemmata.workflows.studies._training import train_networks


def problem(seed=0, n=40, d=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2 * n, d))
    y = np.stack([np.tanh(x[:, 0] * x[:, 1]), x[:, 2]], axis=1)
    return x[:n], y[:n], x[n:], y[n:]


@pytest.fixture(scope="module")
def sections():
    return list(train_networks(*problem(), seed=0))


def test_both_networks_are_trained_at_three_widths(sections):
    assert [section["name"] for section in sections] == ["relu", "softmax"]
    for section in sections:
        assert [entry["width"] for entry in section["widths"]] == list(_training.WIDTHS)
        for entry in section["widths"]:
            values = np.array([list(point.values()) for point in entry["points"]])
            assert np.all(np.isfinite(values))
            assert np.all(np.diff(values[:, 0]) > 0)
            start = (problem()[1] ** 2).sum(axis=1).mean()
            assert entry["points"][0]["network_train"] == pytest.approx(start, rel=1e-6)  # float32 sums


def test_the_gap_to_the_kernel_falls_about_as_the_root_of_the_width(sections):
    # Of 16 times the width, a quarter of the gap is expected; one draw a width scatters by some tens of per cent.
    for section in sections:
        gaps = [entry["gap"] for entry in section["widths"]]
        slope = math.log(gaps[-1] / gaps[0]) / math.log(16)
        assert -0.9 < slope < -0.15, section["sentence"]
        assert "shrinks" in section["sentence"]
        moved = [entry["kernel_movement"] for entry in section["widths"]]
        assert moved[-1] < moved[0] / 4


def test_training_lowers_both_errors_as_the_kernel_says(sections):
    for section in sections:
        wide = section["widths"][-1]
        first, last = wide["points"][0], wide["points"][-1]
        assert last["network_train"] < 0.7 * first["network_train"]
        size = (problem()[3] ** 2).sum(axis=1).mean()
        for point in wide["points"]:
            # |sqrt(a) - sqrt(b)| <= gap * sqrt(size): the triangle inequality for root mean squares
            apart = abs(point["network_test"] ** 0.5 - point["kernel_test"] ** 0.5)
            assert apart <= wide["gap"] * size**0.5 * (1 + 1e-5)


def test_after_the_deadline_nothing_is_trained_and_it_says_so():
    told = []
    found = list(train_networks(*problem(1), seed=0, deadline=time.monotonic() - 1, progress=lambda *a: told.append(a)))
    assert all(section["widths"] == [] for section in found)
    assert all("time limit was reached before width 64, 256, 1024" in section["sentence"] for section in found)
    assert told[-1] == ("Training networks", 1, 1)


def test_a_training_that_diverges_is_reported(monkeypatch):
    monkeypatch.setattr(_training, "RATE", 500.0)
    monkeypatch.setattr(_training, "WIDTHS", (16,))
    found = list(train_networks(*problem(2, n=10), seed=0))
    assert "diverged at width 16" in found[0]["sentence"]
    assert found[0]["widths"][0]["gap"] is None
