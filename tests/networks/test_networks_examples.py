import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["_in_context_layers", "_in_context_construction", "_transformer"])
def test_docstring_examples(module):
    result = doctest.testmod(importlib.import_module(f"lemmata.networks.{module}"))
    assert result.failed == 0
    assert result.attempted > 0
