"""Claims about the four-point vertex notice a recursion of the library that is off."""

import pytest

from lemmata.subjects.field_theory import criticality, vertices
from tests.subjects.effects import supported


@pytest.mark.parametrize(
    ("module", "name", "budget"), [(vertices, "VertexOfSmoothUnits", 32), (criticality, "VertexOfOddUnits", 8)]
)
@pytest.mark.seconds(10)
def test_a_vertex_an_eighth_too_large_is_noticed(monkeypatch, module, name, budget):
    claim, flow = getattr(module, name)(), module.representation_flow
    assert supported(claim, budget)

    def larger(*own, **options):
        found = flow(*own, **options)
        return found._replace(vertex=1.12 * found.vertex)

    monkeypatch.setattr(module, "representation_flow", larger)
    assert not supported(claim, budget)
