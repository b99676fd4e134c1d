"""Matrices on disk: tiles are compared in units of their largest entry, and what does not fit is refused exactly."""

import pathlib
import types

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, MemoryPlanError
from lemmata.kernels import Linear, _disk, gram_plan
from lemmata.kernels._disk import _compare

FOLDER = pathlib.Path("gram")


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 1e3, 1e12])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_stored_tile_may_differ_by_rounding_of_its_largest_entry(scale, kind, sign):
    computed = (scale * np.array([[-4.0, 1.0], [2.0, 0.0]])).astype(kind)
    allowed = 4 * scale * np.sqrt(np.finfo(kind).eps)
    for place in np.ndindex(2, 2):
        for share in (0.9, 1.2):
            found = computed.copy()
            found[place] += kind(sign * share * allowed)
            if share < 1:
                _compare(computed, found, FOLDER)
                continue
            with pytest.raises(DataError, match="with other values"):
                _compare(computed, found, FOLDER)


def test_a_tile_of_zeros_is_compared_too():
    zeros = np.zeros((2, 2))
    _compare(zeros, zeros, FOLDER)
    for wrong in (1e-300, np.nan):
        with pytest.raises(DataError, match="with other values"):
            _compare(zeros, np.array([[0.0, 0.0], [0.0, wrong]]), FOLDER)


@pytest.mark.parametrize("place", ["", "disk", "memory"])
def test_a_matrix_is_refused_by_the_first_byte_that_is_not_free(tmp_path, monkeypatch, place):
    plan = gram_plan(Linear(), jnp.ones((40, 3)), block=10)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "0").write_bytes(bytes(800))  # a tile that is there takes no more room
    free = plan.output_bytes - 800 - (place == "disk")
    monkeypatch.setattr(_disk.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=free))
    monkeypatch.setattr(_disk, "available_bytes", lambda: plan.working_bytes - (place == "memory"))
    if not place:
        _disk._refuse_too_large(plan, tmp_path)
        return
    with pytest.raises(MemoryPlanError, match="free at" if place == "disk" else "choose a smaller working_set"):
        _disk._refuse_too_large(plan, tmp_path)


def test_a_matrix_that_is_not_begun_needs_room_beside_the_nearest_folder(tmp_path, monkeypatch):
    plan, asked = gram_plan(Linear(), jnp.ones((40, 3)), block=10), []
    room = lambda path: asked.append(path) or types.SimpleNamespace(free=plan.output_bytes)
    monkeypatch.setattr(_disk.shutil, "disk_usage", room)
    _disk._refuse_too_large(plan, tmp_path / "new" / "gram")
    assert asked == [tmp_path]
