import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["_classes", "_covering", "_cube", "_spectral_moment"])
def test_docstring_examples(module):
    result = doctest.testmod(importlib.import_module(f"lemmata.functions.{module}"))
    assert result.failed == 0
    assert result.attempted > 0
