"""The claims that the tools for generative models name exist, and no section hides a tool."""

import importlib
import pathlib
import pkgutil

import pytest

from lemmata.engine.claims import registry
from lemmata.subjects import generation

TOOLS = ["_bits", "_couple", "_guidance", "_memorisation", "_recover", "_speciation", "_straightness", "_support",
         "_wasserstein"]  # fmt: skip


@pytest.mark.parametrize("name", TOOLS)
def test_the_claims_exist(name):
    module = importlib.import_module(f"lemmata.subjects.generation.{name}")
    assert set(module._CLAIMS) <= set(registry("generation"))


def test_no_section_has_the_name_of_a_tool():
    sections = {module.name for module in pkgutil.iter_modules([str(pathlib.Path(generation.__file__).parent)])}
    tools = {name for name in vars(generation) if callable(getattr(generation, name))}
    assert not sections & tools
