"""Arguments of another kind are refused in words before anything is computed, and paths are accepted.

The functions are called without the runtime checks of types that the tests add, as users call them.
"""

import inspect
import pathlib

import jax
import pytest

from lemmata.engine.claims import Claim, Status, file_of, find, mutate, verify, verify_all
from lemmata.engine.ledger import recorded_trials
from lemmata.engine.refutations import ablate, load_counterexample, refute
from lemmata.errors import LemmataError, SettingError
from tests.engine.ledger import slow
from tests.faults.inputs import CLAIMS

OWN = slow.SquareIsSmaller()
ARGUMENTS = (
    {"seed": -1}, {"seed": 2**70}, {"seed": 1.5}, {"seed": "a"}, {"budget": 2.5}, {"budget": True}, {"budget": "many"},
    {"budget": 0}, {"corners": -1}, {"corners": "x"}, {"level": 2}, {"level": float("nan")}, {"executor": 3},
    {"setting": "n=3"},
)  # fmt: skip


@pytest.mark.parametrize("given", ARGUMENTS, ids=str)
def test_verify_refuses(given):
    with pytest.raises(LemmataError, match=next(iter(given))):
        inspect.unwrap(verify)(OWN, **given)


@pytest.mark.parametrize("given", [own for own in ARGUMENTS if not {"corners", "setting"} & set(own)], ids=str)
def test_verify_all_refuses(given):
    with pytest.raises(LemmataError, match=next(iter(given))):
        inspect.unwrap(verify_all)([OWN], **given)


@pytest.mark.parametrize(
    "given",
    [{"seed": -1}, {"storage": 3}, {"executor": 3}, {"setting": "n=3"}, {"budget": float("nan")}, {"budget": -1}],
    ids=str,
)
def test_refute_refuses(given):
    with pytest.raises(LemmataError, match=next(iter(given))):
        inspect.unwrap(refute)(OWN, **given)


@pytest.mark.parametrize("run", [verify, refute, ablate, mutate])
@pytest.mark.parametrize(
    ("claim", "remedy"),
    [("mine.py:Claim", r"pass find\('mine.py:Claim'\)\[0\]"), (slow.SquareIsSmaller, r"pass an object of the class: "
      r"SquareIsSmaller\(\)"), ([OWN], "one at a time"), (None, "pass a claim")],
)  # fmt: skip
def test_what_is_not_a_claim_is_refused(run, claim, remedy):
    with pytest.raises(SettingError, match=remedy):
        inspect.unwrap(run)(claim)
    with pytest.raises(SettingError, match=remedy):
        inspect.unwrap(verify_all)([claim])


@pytest.mark.parametrize("claims", [OWN, slow.SquareIsSmaller, "mine.py", 3])
def test_a_single_claim_is_not_a_list(claims):
    with pytest.raises(SettingError, match="put the single claim into a list"):
        inspect.unwrap(verify_all)(claims)


def test_a_path_names_a_file_of_claims():
    path = pathlib.Path(slow.__file__)
    assert [type(claim).__name__ for claim in find(path)] == [type(claim).__name__ for claim in find(str(path))]
    for name in (3, None, b"mine.py"):
        with pytest.raises(SettingError, match="text or a path"):
            inspect.unwrap(find)(name)


def test_a_file_of_claims_that_changes_the_folder_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("mine.py").write_text(f"{CLAIMS}\nimport os\nos.chdir('/')\n")
    assert {file_of(claim) for claim in find("mine.py")} == {str((tmp_path / "mine.py").resolve())}


@pytest.mark.parametrize("stem", ["", ".", "/", None, 3, b"x"])
def test_a_counterexample_without_a_name_is_refused(stem):
    with pytest.raises(LemmataError, match="stored counterexample without its extension"):
        inspect.unwrap(load_counterexample)(stem)


class SilentError(Exception):
    def __str__(self):
        raise ValueError("no text")


class Silent(slow.SquareIsSmaller):
    """The square of a number between 0 and 1 is at most the number."""

    def measure(self, problem, key):
        raise SilentError


@pytest.mark.parametrize("recorded", [False, True])
def test_an_error_whose_text_cannot_be_read_is_a_failed_verdict(tmp_path, recorded):
    own: Claim = Silent()
    run = {"run": lambda *given, **rest: recorded_trials(tmp_path / "l.sqlite", 1, *given, **rest)} if recorded else {}
    with jax.enable_x64(True):
        assert verify(own, budget=2, corners=0, progress=False, **run).status is Status.FAILED
