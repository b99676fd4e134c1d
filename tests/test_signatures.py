"""Signatures as `help` shows them: lines below 100 characters, and the same to programs."""

import enum
import importlib
import importlib.util
import inspect
import pydoc

import pytest
import sklearn

import lemmata
from lemmata import estimators
from lemmata.interfaces.site._house import public_rooms
from lemmata.interfaces.site._reference import entries
from lemmata.signatures import shows_signature

PACKAGES = [room for room in public_rooms() if room not in ("interfaces.cli", "interfaces.search", "interfaces.site")]
"""The subpackages of the reference. Users do not call the functions of the last three."""


@pytest.mark.parametrize("name", ["study", "compare", "study_model"])
def test_the_signature_of_a_front_door_has_short_lines_in_help(name):
    shown = pydoc.plain(pydoc.render_doc(getattr(lemmata, name))).partition("\n    ")[0]
    whole = pydoc.plain(pydoc.render_doc(getattr(lemmata, name)))
    lines = whole[whole.index(f"{name}(" if f"{name}(" in whole else name) :].partition(")")[0].split("\n")
    assert max(map(len, [*shown.split("\n"), *lines])) <= 100


@pytest.mark.parametrize("package", PACKAGES)
def test_the_signatures_of_public_functions_and_classes_have_short_lines_in_help(package):
    module = importlib.import_module(f"lemmata.{package}")
    public = {entry.name: getattr(module, entry.name) for entry in entries(package)}
    seen = 0
    for name, own in public.items():
        if not callable(own) or (isinstance(own, type) and issubclass(own, (enum.Enum, inspect.Signature))):
            continue
        heads = tuple(f"{start}{each}(" for each in (name, *dir(own)) for start in ("", "class ", " |  "))
        lines = [line for line in pydoc.plain(pydoc.render_doc(own)).split("\n") if line.startswith(heads)]
        seen += bool(lines)
        assert [line for line in lines if len(line) > 100] == [], name
    assert seen or not public


ESTIMATORS = [name for name, own in vars(estimators).items() if name[0] != "_" and isinstance(own, type)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_has_short_signatures_in_help(name):
    """The first line, the signature of the class, and those of its methods; texts of scikit-learn are its own."""
    kind = getattr(estimators, name)
    lines = pydoc.plain(pydoc.render_doc(kind)).split("\n")
    heads = ["class ", *(f" |  {own}(" for own in (name, *dir(kind)))]
    shown = [line for line in lines if line.startswith(tuple(heads))]
    assert len(shown) > 4
    assert [line for line in shown if len(line) > 100] == []


def test_the_shown_signatures_of_an_estimator_do_not_change_what_scikit_learn_reads():
    model = estimators.CascadeRegressor((3,), damping=2.0)
    assert sklearn.base.clone(model).get_params() == model.get_params()
    assert model.get_params()["widths"] == (3,)
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = estimators.KernelRegressor().set_fit_request(sample_weight=True)
        assert weighted.get_metadata_routing().fit.requests == {"sample_weight": True}
        assert estimators.KernelRegressor().get_metadata_routing().fit.requests == {"sample_weight": None}
    assert list(inspect.signature(weighted.set_fit_request).parameters) == ["self", "sample_weight"]


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
