import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["_disk", "_gram", "_plan"])
def test_docstring_examples(module):
    result = doctest.testmod(importlib.import_module(f"lemmata.kernels.{module}"))
    assert result.failed == 0
    assert result.attempted > 0
