"""Embeddings with a padding index: their vector of the padding is a fixed part of the function."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lemmata.subjects.trained_models import read_trained  # noqa: E402
from lemmata.workflows.examinations._preflight import preflight  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
ROWS = np.random.default_rng(0).integers(0, 7, (40, 5))
TARGETS = (ROWS == 3).any(1).astype(int)


class Pooled(torch.nn.Module):
    """The largest embedding over tokens, which may be that of the padding, and a line."""

    def __init__(self, padding, nested):
        super().__init__()
        torch.manual_seed(0)
        own = torch.nn.Embedding(7, 4, padding_idx=padding)
        self.words = torch.nn.ModuleDict({"own": own}) if nested else own
        self.line = torch.nn.Linear(4, 2)
        with torch.no_grad():
            own.weight.copy_(torch.randn(7, 4))

    def forward(self, x):
        words = self.words["own"] if isinstance(self.words, torch.nn.ModuleDict) else self.words
        return self.line(words(x.long()).amax(1))


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("padding", [0, 6, None])
def test_derivatives_agree_with_differences(padding, nested):
    module = Pooled(padding, nested)
    trained = read_trained(module, ROWS, TARGETS)
    assert [check.name for check in preflight(trained, None) if check.holds is False] == []
    model, x = trained.model.in_double(), trained.x[:9]
    np.testing.assert_allclose(model.outputs(x), module(torch.from_numpy(x)).detach().numpy(), rtol=1e-5)
    v = np.random.default_rng(1).normal(size=len(model.theta))
    ends = [model.at(model.theta + step * v).outputs(x) for step in (1e-6, -1e-6)]
    np.testing.assert_allclose(model.jvp(v, x), (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)
    back = model.split(model.vjp(np.ones((9, 2)), x))
    (words,) = [part for name, part in back.items() if "line" not in name]
    assert (padding is None) == bool(words[padding or 0].any())
