"""What the tests of this room share."""

import jaxtyping
import pytest


@pytest.fixture
def types_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
