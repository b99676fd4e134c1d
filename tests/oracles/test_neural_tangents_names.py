"""docs/kernels.md says for every public name of Neural Tangents what stands for it here, or why nothing can."""

import json
import pathlib
import re

import pytest

import lemmata.architectures
import lemmata.estimators
import lemmata.kernels
import lemmata.networks
import lemmata.solvers
import lemmata.spectra

FOLDER = pathlib.Path(__file__).parent
NAMES = json.loads((FOLDER / "neural_tangents_names.json").read_text())
PAGE = (FOLDER.parents[1] / "docs" / "kernels.md").read_text(encoding="utf-8")
TABLE = re.search(r"^\| there \| here \|\n\| --- \| --- \|\n((?:\|.*\n)+)", PAGE, re.M)
ROWS = [line.strip("| ").split(" | ", 1) for line in TABLE[1].splitlines()] if TABLE else []
FLOORS = (
    lemmata.architectures, lemmata.estimators, lemmata.kernels, lemmata.networks, lemmata.solvers, lemmata.spectra,
)  # fmt: skip


def test_there_are_names_and_rows():
    assert len(NAMES) > 70
    assert all(len(row) == 2 and all(cell.strip() for cell in row) for row in ROWS)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_of_the_peer_has_a_row(name):
    said = re.compile(rf"\b{re.escape(name)}\b")
    assert any(said.search(there) for there, _ in ROWS), f"{name} is not in the table of docs/kernels.md"


def test_what_stands_here_exists():
    known = {name for floor in FLOORS for name in dir(floor)} | {"Serial", "jax", "scikit"}
    called = {
        name
        for _, here in ROWS
        for code in re.findall(r"`([^`]+)`", here)
        for name in re.findall(r"([A-Za-z_]\w*)\(", code)
    }
    missing = {name for name in called if name not in known and name not in LOCAL}
    assert called
    assert not missing, f"docs/kernels.md names what lemmata does not have: {sorted(missing)}"


# Methods, and functions of other libraries.
LOCAL = {"gram", "nngp", "init", "apply", "fn", "split", "vmap", "product"}
