"""Signatures as `help` shows them: lines below 100 characters, and the same to programs."""

import importlib
import inspect
import pydoc

import pytest

import lemmata
from lemmata.signatures import ShownSignature, shows_signature

PACKAGES = ("functions", "kernels", "networks", "solvers", "spectra", "subjects.preferences", "subjects.privacy")


@pytest.mark.parametrize("name", ["study", "compare", "study_model"])
def test_the_signature_of_a_front_door_has_short_lines_in_help(name):
    shown = pydoc.plain(pydoc.render_doc(getattr(lemmata, name))).partition("\n    ")[0]
    whole = pydoc.plain(pydoc.render_doc(getattr(lemmata, name)))
    lines = whole[whole.index(f"{name}(" if f"{name}(" in whole else name) :].partition(")")[0].split("\n")
    assert max(map(len, [*shown.split("\n"), *lines])) <= 100


@pytest.mark.parametrize("package", PACKAGES)
def test_the_signatures_of_public_functions_have_short_lines(package):
    module = importlib.import_module(f"lemmata.{package}")
    public = {name: own for name, own in vars(module).items() if inspect.isfunction(own) and name[0] != "_"}
    assert len(public) > 2
    for name, own in public.items():
        assert isinstance(inspect.signature(own), ShownSignature), name
        lines = f"{name}{inspect.signature(own)}".split("\n")
        assert max(map(len, lines)) <= 100, name


def test_a_signature_is_the_same_to_programs():
    def plain(first, /, x: "tuple[int, ...]", *rest: int, deep: bool = False, **more: object) -> int:
        return deep

    own = inspect.signature(plain)
    shown = inspect.signature(shows_signature(plain))
    assert shown.parameters == own.parameters
    assert shown.return_annotation is own.return_annotation
    assert shown.bind(1, (2,), 3, deep=True).arguments == own.bind(1, (2,), 3, deep=True).arguments
    assert str(shown) == "\n".join(
        ["(", "    first,", "    /,", "    x: tuple[int, ...],", "    *rest: int,", "    deep: bool = False,",
         "    **more: object,", ") -> int"]
    )  # fmt: skip
