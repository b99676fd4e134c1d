import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["_file", "_registry", "_transformers"])
def test_docstring_examples(module):
    result = doctest.testmod(importlib.import_module(f"lemmata.storage.{module}"))
    assert result.failed == 0
    assert result.attempted > 0
