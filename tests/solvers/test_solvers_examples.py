import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", [
    "_ridge", "_flow", "_gaussian_process", "_ridge_path", "_operators", "_conjugate_gradients", "_low_rank",
    "_eigenpro", "_ensemble", "_momentum", "_cross_entropy",
    "_subset_of_regressors", "_centres_plan", "_centred_regression",
])
def test_the_examples_of_the_docstrings_are_right(module):
    result = doctest.testmod(importlib.import_module(f"lemmata.solvers.{module}"))
    assert result.failed == 0
    assert result.attempted > 0
