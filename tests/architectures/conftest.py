"""Fixtures of layers."""

import jaxtyping
import pytest


@pytest.fixture
def shapes_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
