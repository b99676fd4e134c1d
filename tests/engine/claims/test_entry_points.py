"""Claims of other packages: what can be loaded is registered, and nothing else of them matters."""

import importlib.metadata
import subprocess
import sys
import types
import warnings

import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import find, registry
from lemmata.engine.claims._registry import ENTRY_POINTS
from lemmata.errors import ClaimError, EntryPointWarning
from lemmata.interfaces.cli import app
from tests.engine.claims import synthetic

OWN = list(importlib.metadata.entry_points(group=ENTRY_POINTS))
BROKEN = {
    "raises": ("1 / 0", "ZeroDivisionError: division by zero"),
    "leaves": ("raise SystemExit(0)", "SystemExit: 0"),
    "misspelt": ("def (", "SyntaxError: invalid syntax"),
    "imports": ("import no_such_dependency", "No module named 'no_such_dependency'"),
    "half": ("from lemmata.engine.claims import Claim\nclass Half(Claim): pass", "broken_half.py; found no control"),
    "several": ("x = 1\nraise ValueError('a\\n  b')", "ValueError: a b"),
}


class Point(importlib.metadata.EntryPoint):
    """An entry point of an installed package, or of none."""

    def __init__(self, load, package=None, value="their.claims", name="theirs"):
        super().__init__(name, value, ENTRY_POINTS)
        vars(self).update(load=load, dist=package and types.SimpleNamespace(name=package))


@pytest.fixture
def registered(monkeypatch):
    """Register entry points, lemmata's own among them, for one test."""

    def install(*points, own=OWN):
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: [*points, *own])
        registry.cache_clear()

    yield install
    registry.cache_clear()


def claim_class(name, module="their.claims"):
    return type(name, (synthetic.SureBound,), {"__doc__": f"{name}.", "__module__": module})


def test_a_module_and_a_class_are_registered_and_what_stands_twice_once(registered):
    module = types.ModuleType("their.claims")
    module.TheirBound = claim_class("TheirBound")
    other = claim_class("OtherBound", "their.other")
    loads = (lambda: module, lambda: other, lambda: module)
    registered(*map(Point, loads), Point(OWN[0].load, "mirror", OWN[0].value))
    assert {"their.claims.their_bound", "their.other.other_bound"} < set(registry())
    assert find("their_bound")[0].statement == "TheirBound."


def test_one_chapter_alone_is_loaded_beside_what_others_have(registered):
    registered(Point(lambda: claim_class("TheirBound")))
    own = [name for name in registry() if name.startswith("trained_models.")]
    assert len(own) > 50
    assert list(registry("trained_models")) == [*own, "their.claims.their_bound"]


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_package_is_one_warning_that_names_it(case, registered, tmp_path, monkeypatch):
    text, message = BROKEN[case]
    (tmp_path / f"broken_{case}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    point = importlib.metadata.EntryPoint(case, f"broken_{case}", ENTRY_POINTS)
    registered(Point(point.load, "their-package", point.value, case), Point(lambda: claim_class("TheirBound")))
    with pytest.warns(EntryPointWarning) as said:
        known = registry()
    assert len(said) == 1
    assert f"the claims of package their-package from the entry point '{case} = broken_{case}'" in str(said[0].message)
    assert message in str(said[0].message)
    assert "\n" not in str(said[0].message)
    assert "their.claims.their_bound" in known
    assert "generalisation.concentration.hoeffding_held_out" in known


def test_a_package_with_the_name_of_a_claim_of_lemmata_is_left_out_as_a_whole(registered):
    module = types.ModuleType("their.claims")
    module.TheirBound, module.HoeffdingHeldOut = claim_class("TheirBound"), claim_class("HoeffdingHeldOut")
    registered(Point(lambda: module))
    with pytest.warns(EntryPointWarning, match="another claim with the class HoeffdingHeldOut"):
        known = registry()
    assert not [name for name in known if name.startswith("their.")]


def test_neither_a_claim_nor_a_module(registered):
    registered(Point(lambda: 3.14))
    with pytest.warns(EntryPointWarning, match="found a float; rule: the class of a claim, a module, or a package"):
        registry()


def test_ctrl_c_while_a_package_is_loaded_is_no_defect_of_the_package(registered):
    def interrupted():
        raise KeyboardInterrupt

    registered(Point(interrupted))
    with pytest.raises(KeyboardInterrupt):
        registry()


@pytest.mark.parametrize("own", [[], [Point(lambda: 1 / 0, "lemmata", "lemmata.subjects", "lemmata")]])
def test_without_claims_of_its_own_every_command_that_needs_them_is_refused(registered, own):
    registered(own=own)
    with pytest.raises(ClaimError, match="the claims of lemmata cannot be loaded"):
        registry()
    for words in (["verify", "hoeffding_held_out"], ["verify", "--stale"], ["judge", "--all"]):
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith("Error: the claims of lemmata cannot be loaded\n  found: ")
        assert "remedy: reinstall lemmata together with its dependencies" in result.stderr


def test_the_command_line_says_it_in_one_line_and_goes_on(registered):
    registered(Point(lambda: 1 / 0, "their-package"))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = CliRunner().invoke(app, ["verify", "hoeffding_held_out", "--json"])
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("{")
    assert result.stderr == (
        "Warning: the claims of package their-package from the entry point 'theirs = their.claims' are left out; "
        "ZeroDivisionError: division by zero\n"
    )


def test_an_installed_package_that_is_broken(tmp_path, monkeypatch):
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINTS}]\nmine = gone\n")
    program = "import sys; sys.path.insert(0, sys.argv.pop(1)); from lemmata.interfaces.cli import main; main()"
    for words, code in ((["verify", "nothing_like_this"], 2), (["list", "hoeffding"], 0)):
        command = [sys.executable, "-c", program, str(tmp_path), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        # What claims say is kept, so that a list loads them only where their code has changed.
        assert "Warning: the claims of package theirs from the entry point" in done.stderr or words[0] == "list"
