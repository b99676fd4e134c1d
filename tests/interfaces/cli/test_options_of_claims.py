"""The options with which claims are chosen and judged: subjects, parts, settings, limits, numbers of runs and flags."""

import dataclasses
import importlib.metadata
import inspect
import math
import os
from typing import Annotated, Any

import pytest

from lemmata.errors import SettingError, UnknownNameError
from lemmata.interfaces.cli import _flags, _stale, _stdout, _walk
from lemmata.interfaces.cli._judging import MOST_TRIALS, Judging, check_limits
from lemmata.interfaces.cli._ledger import _check_replay, _number
from lemmata.interfaces.cli._options import parse_settings, with_options
from lemmata.interfaces.cli._subjects import is_of, known_subjects, refuse_together, unknown
from lemmata.interfaces.cli._verdicts import _control, _setting

NAMES = ["state_space.cells.one", "optimisers.decay.two", "optimisers.curvature.three"]


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (None, ()), ([], ()), (["optimisers"], ("optimisers",)), (["optimisers.decay"], ("optimisers.decay",)),
        (["state-space, optimisers.curvature", "optimisers"], ("state_space", "optimisers.curvature", "optimisers")),
    ],
)  # fmt: skip
def test_subjects_are_given_with_commas_or_one_by_one(asked, wanted):
    assert known_subjects(asked, NAMES) == wanted


@pytest.mark.parametrize("word", ["optimiser", "optimisers.decay.two", "decay", ""])
def test_a_subject_that_no_claim_has_is_refused(word):
    with pytest.raises(UnknownNameError) as error:
        known_subjects([word], NAMES)
    assert f"--subject '{word}'" in str(error.value)
    assert "give one of state_space, optimisers, or a section of one of them" in str(error.value)


def test_a_claim_is_of_its_subject_and_section_and_of_no_other():
    name = "optimisers.decay.two"
    for places, wanted in (
        (("optimisers",), True), (("optimisers.decay",), True), (("decay",), False), (("optimisers.decay.two",), False),
        (("state_space", "optimisers"), True), ((), False), (("optim",), False),
    ):  # fmt: skip
        assert is_of(places, name) is wanted


def test_two_options_are_refused_together_alone():
    refuse_together(names=["a"], all=False)
    refuse_together(names=[], all=True)
    refuse_together(json=False, markdown=False)
    with pytest.raises(SettingError) as error:
        refuse_together(names=["a"], trial_seconds=2.0)
    assert "names of claims with --trial-seconds" in str(error.value)
    assert "either names of claims or --trial-seconds" in str(error.value)


def test_an_unknown_word_is_answered_by_the_nearest():
    assert "did you mean lemma?" in str(unknown("--kind", "lema", ["theorem", "lemma"], "a kind"))
    assert "run `lemmata list`" in str(unknown("--kind", "xyz", ["theorem", "lemma"], "a kind"))


@pytest.mark.parametrize(("text", "wanted"), [("", (1, 1)), ("1/1", (1, 1)), ("3/20", (3, 20)), ("20/20", (20, 20))])
def test_a_part_is_one_of_several(text, wanted):
    assert _stale._part(text) == wanted


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/2/3", "-1/3", "1/00000", " 1/2", "12345/20000"])
def test_a_part_that_does_not_exist_is_refused(text):
    with pytest.raises(SettingError, match="K/N"):
        _stale._part(text)


def test_settings_are_pairs():
    assert parse_settings(None) == parse_settings([]) == {}
    assert parse_settings(["n=1", " d = a=b ", "e="]) == {"n": "1", "d": "a=b", "e": ""}
    for pairs, said in ((["n"], "'n'"), (["=1"], "'=1'"), ([" =1"], "' =1'"), (["n=1", " n =2"], "two values")):
        with pytest.raises(SettingError, match=said):
            parse_settings(pairs)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ""), ({"budget": 1}, ""), ({"budget": MOST_TRIALS}, ""), ({"budget": 0}, "at least 1 trial"),
        ({"budget": MOST_TRIALS + 1}, "at most 10,000,000"), ({"level": 0.0}, "level"), ({"level": 0.5}, "level"),
        ({"level": math.nan}, "level"), ({"level": 0.4999}, ""), ({"level": 1e-12}, ""), ({"seed": -1}, "seed"),
        ({"seed": 2**32}, "seed"), ({"seed": 2**32 - 1}, ""),
    ],
)  # fmt: skip
def test_judging_takes_numbers_in_their_range(more, said):
    if not said:
        Judging(**more).check()
        return
    with pytest.raises(SettingError, match=said):
        Judging(**more).check()


@pytest.mark.parametrize("limit", [0.0, -1.0, math.inf, math.nan])
def test_a_limit_leaves_time_and_ends(limit):
    check_limits(minutes=None, trial_seconds=1e-9)
    with pytest.raises(SettingError, match="--trial-seconds"):
        check_limits(minutes=1.0, trial_seconds=limit)


@pytest.mark.parametrize(("word", "wanted"), [("0", 0), ("017", 17), (str(2**63 - 1), 2**63 - 1)])
def test_the_number_of_a_run_is_one_that_a_ledger_can_hold(word, wanted):
    assert _number(word) == wanted


@pytest.mark.parametrize("word", ["", "-1", "1.0", "a", "٣", "²", str(2**63), "9" * 19, "0" * 20])
def test_no_other_number_of_a_run_is_taken(word):
    with pytest.raises(SettingError, match="a whole number from 0 to 9223372036854775807"):
        _number(word)


def test_only_a_replay_takes_a_setting_and_a_seed():
    for action in ("replay", "list"):
        _check_replay(action, None, None)
        _check_replay(action, [], None)
    _check_replay("replay", ["n=1"], 0)
    for setting, seed, said in (
        (["n=1"], None, "with --set"),
        (None, 0, "with --seed"),
        (["n=1"], 7, "--set and --seed"),
    ):
        with pytest.raises(SettingError, match=f"lemmata ledger list .*{said}"):
            _check_replay("list", setting, seed)
    for seed in (-1, 2**32):
        with pytest.raises(SettingError, match="seed"):
            _check_replay("replay", None, seed)
    _check_replay("replay", None, 2**32 - 1)


@dataclasses.dataclass(frozen=True)
class Size:
    """Options that are fields."""

    level: Annotated[float, "A level."] = 0.5
    names: Annotated[tuple[str, ...], "Names."] = ()


@dataclasses.dataclass(frozen=True)
class Place:
    """Options of another kind, one of them shared."""

    level: Annotated[float, "A level."] = 0.5
    a_place: Annotated[Any, "A place."] = "here"


def test_fields_become_options_before_the_last_two_parameters():
    seen = []
    command = with_options(
        lambda size, place, claim, out=1, as_json=False: seen.append((size, place, claim, out, as_json)), Size, Place
    )
    parameters = inspect.signature(command).parameters
    assert list(parameters) == ["claim", "level", "names", "a_place", "out", "as_json"]
    assert [parameters[name].default for name in ("level", "names", "a_place")] == [0.5, None, "here"]
    command(claim="c", level=0.25, names=["x"], a_place="there", out=1, as_json=False)
    command(claim="c", level=0.25, names=None, a_place="there", out=1, as_json=True)
    assert seen == [
        (Size(0.25, ("x",)), Place(0.25, "there"), "c", 1, False),
        (Size(0.25, ()), Place(0.25, "there"), "c", 1, True),
    ]


@pytest.mark.parametrize(
    ("flags", "odd"),
    [
        ("", ""), ("--xla_cpu_multi_thread_eigen=false", ""), ("--xla_backend_optimization_level=3", ""),
        ("--xla_backend_optimization_level=4", "--xla_backend_optimization_level=4"),
        ("--xla_force_host_platform_device_count=128 --other=1", "--other=1"),
        ("--xla_force_host_platform_device_count=1280", "--xla_force_host_platform_device_count=1280"),
        ("--xla_cpu_use_fusion_emitters=maybe a", "--xla_cpu_use_fusion_emitters=maybe a"),
    ],
)  # fmt: skip
def test_flags_that_xla_may_not_know_are_found(flags, odd, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", flags)
    assert _flags.odd_flags() == odd


SET = "--xla_cpu_scheduler_type=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"


@pytest.mark.parametrize(
    ("version", "flags", "wanted"),
    [
        ("0.10.0", None, SET), ("0.10.2", "", SET), ("0.10.0", " ", SET), ("0.10.0", "--xla_a=1", f"--xla_a=1 {SET}"),
        ("0.10.0", "--xla_cpu_scheduler_type=OTHER", "--xla_cpu_scheduler_type=OTHER"),
        ("0.10.0", "flags.txt", "flags.txt"), ("0.1.0", "--xla_a=1", "--xla_a=1"), ("0.9.0", None, None),
        ("0.11.0", None, None), ("10.10.0", None, None),
    ],
)  # fmt: skip
def test_batches_are_solved_in_turn_where_jaxlib_may_hang(version, flags, wanted, monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    if flags is not None:
        monkeypatch.setenv("XLA_FLAGS", flags)
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version)
    _flags.solve_in_turn()
    assert os.environ.get("XLA_FLAGS") == wanted
    if wanted is not None and flags is None:
        monkeypatch.delenv("XLA_FLAGS")


@pytest.mark.parametrize(
    ("name", "said", "kept"),
    [
        ("COLUMNS", "20", True), ("COLUMNS", "19", False), ("COLUMNS", "1000", True), ("COLUMNS", "1001", False),
        ("COLUMNS", "0", False), ("COLUMNS", "", False), ("COLUMNS", "a", False), ("COLUMNS", "٤٤", False),
        ("LINES", "1", True), ("LINES", "0", False), ("LINES", "10000", True), ("LINES", "10001", False),
        ("LINES", "000000024", False), ("LINES", "00000024", True), ("COLUMNS", "-80", False),
    ],
)  # fmt: skip
def test_impossible_sizes_of_a_terminal_are_forgotten(name, said, kept, monkeypatch):
    monkeypatch.setenv(name, said)
    _stdout.forget_odd_sizes()
    assert (os.environ.get(name) == said) is kept


def place(status):
    return {"status": status, "setting": {}, "reason": ""}


@pytest.mark.parametrize(
    ("told", "left", "code"),
    [
        ({"a": {"supported": 3, "where": []}}, [], 0),
        ({"a": {"supported": 3, "where": []}}, ["b"], 3),
        ({"a": {"supported": 2, "refuted": 1, "where": [place("refuted")]}}, [], 1),
        ({"a": {"supported": 2, "refuted": 1, "where": [place("refuted")]}}, ["b"], 1),
        ({"a": {"supported": 2, "failed": 1, "where": [place("failed")]}}, [], 4),
        ({"a": {"refuted": 1, "where": [place("refuted")]}, "b": {"failed": 1, "where": [place("failed")]}}, [], 4),
        ({"a": {"failed": 2, "where": []}}, [], 4),
        ({"a": {"failed": 2, "supported": 1, "where": []}}, [], 0),
        ({"a": {"inapplicable": 2, "where": []}}, [], 3),
        ({"a": {"inapplicable": 2, "supported": 1, "where": []}}, [], 0),
        ({"a": {"unfinished": 2, "where": []}}, [], 3),
        ({"a": {"where": []}}, [], 3),
        ({}, [], 0),
        ({}, ["b"], 3),
    ],
)
def test_the_exit_code_of_a_walk_is_that_of_its_worst_setting(told, left, code):
    assert _walk._code(told, left) == code


def test_settings_and_controls_are_told_in_words():
    assert _walk._spelled({"n": 1, "d": "a"}) == _setting({"n": 1, "d": "a"}) == "n=1, d=a"
    assert (_walk._spelled({}), _setting({})) == ("", "none")
    control = lambda violating, farthest: type(
        "C", (), {"status": "refuted", "violating": violating, "farthest": farthest}
    )
    assert _control(control(None, None)) == "refuted"
    assert _control(control(0.25, 1.5)) == "refuted by 25% of the trials at a distance of 1.5"
    assert _control(control(0.0, 0.0)) == "refuted by 0% of the trials at a distance of 0"
