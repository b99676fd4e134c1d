import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["_eigensystem", "_alignment", "_curve", "_omniscient", "_validation"])
def test_the_examples_of_the_docstrings_are_right(module):
    result = doctest.testmod(importlib.import_module(f"lemmata.spectra.{module}"))
    assert result.failed == 0
    assert result.attempted > 0
