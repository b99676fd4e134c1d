import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["_classifier", "_gaussian_process", "_kernel_ridge", "_sklearn_kernel"])
def test_docstring_examples(module):
    result = doctest.testmod(importlib.import_module(f"lemmata.estimators.{module}"))
    assert result.failed == 0
    assert result.attempted > 0
