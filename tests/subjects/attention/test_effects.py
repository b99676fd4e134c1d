"""Claims about depth are not supported by layers in which no token attends to another."""

import pytest

from lemmata.subjects.attention import depth
from tests.subjects.effects import supported


@pytest.mark.parametrize("name", ["DepthLowersDimension", "SkipsSlowTheLossOfDimension"])
def test_layers_without_attention_support_nothing(monkeypatch, name):
    claim = getattr(depth, name)()
    assert supported(claim, 16)
    monkeypatch.setattr(depth.AttentionStack, "layers", vars(depth.AttentionStack)["values_alone"])
    assert not supported(claim, 16)
