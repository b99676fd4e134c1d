"""Of several outputs each is looked at, not the first alone: what gives one away is found, whichever it is."""

import numpy as np
import pytest
from sklearn.utils import Bunch

from lemmata.workflows.studies import load_dataset

N, OUTPUTS = 120, 3
RNG = np.random.default_rng(7)
X, Y = RNG.normal(size=(N, 2)), RNG.normal(size=(N, OUTPUTS))
LEVELS = RNG.integers(0, 12, N) * 1.0


def findings(column, y):
    """What is found in a table of two columns and another one."""
    table = Bunch(data=np.column_stack([X, column]), target=y, feature_names=["a", "b", "leak"])
    return {own.kind: own for own in load_dataset(table).findings}


LEAKS = {
    "equals": lambda own: own,
    "multiple": lambda own: 1.8 * own + 32,
    "monotone": lambda own: np.exp(3 * own),
    "determines": lambda own: np.sin(1 + own),
}


@pytest.mark.parametrize("output", range(OUTPUTS))
@pytest.mark.parametrize("leak", LEAKS)
def test_a_column_that_gives_one_output_away_is_found_whichever_it_is(leak, output):
    y = Y.copy()
    if leak == "determines":
        y[:, output] = LEVELS
    found = findings(LEAKS[leak](y[:, output]), y)
    assert found["leakage"].columns == ("leak",)
    assert leak in found["leakage"].text


def test_outputs_without_a_leak_have_none():
    assert "leakage" not in findings(RNG.normal(size=N), Y)
    mixed = Y @ [1.0, 1.0, 1.0]
    assert "leakage" not in findings(mixed, Y), "a sum of the outputs gives none of them away"


@pytest.mark.parametrize("output", range(OUTPUTS))
def test_one_heavy_output_is_told_whichever_it_is(output):
    y = Y.copy()
    y[17, output] = 300.0
    found = findings(RNG.normal(size=N), y)
    assert "has heavy tails" in found["tail"].text
    assert "tail" not in findings(RNG.normal(size=N), Y)
