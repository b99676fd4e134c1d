"""The directories of the cache and of the ledger, also for a user without a home directory."""

import os

import pytest

from lemmata.directories import cache_directory, compilations_directory, data_directory
from lemmata.engine.catalogue._read import kept
from lemmata.errors import SettingError
from lemmata.interfaces.cli._compilations import kept_compilations
from lemmata.interfaces.search import Item
from lemmata.interfaces.search._kept import kept_shelf

pwd = pytest.importorskip("pwd", reason="on Windows the home directory is a variable of the environment")
FOLDERS = ("LEMMATA_CACHE_DIR", "LEMMATA_DATA_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME")


@pytest.fixture
def homeless(monkeypatch):
    """A user without HOME and without an entry in the list of users."""

    def no_entry(user):
        raise KeyError(user)

    for name in ("HOME", *FOLDERS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", no_entry)


def test_without_a_home_nothing_is_cached_and_the_ledger_must_be_named(homeless):
    assert cache_directory() is None
    assert compilations_directory() is None
    with pytest.raises(SettingError, match=r"--ledger PATH, or set LEMMATA_DATA_DIR"):
        data_directory()


def test_without_a_home_the_lists_are_made_again(homeless, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [kept("numbers", lambda count=count: {"count": count}) for count in (1, 2)] == [{"count": 1}, {"count": 2}]
    assert len(kept_shelf("things", [Item("one", "one thing", "one.html", "", "", ((1.0, "one thing"),))]).items) == 1
    with kept_compilations():
        pass
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("variable", "directory"), [("LEMMATA_CACHE_DIR", compilations_directory), ("LEMMATA_DATA_DIR", data_directory)]
)
def test_a_directory_that_a_variable_names(variable, directory, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for value in ("~/own", "own", str(tmp_path / "own")):
        monkeypatch.setenv(variable, value)
        assert directory() == tmp_path / "own"
    monkeypatch.setenv(variable, "~nouser_xyz/own")
    with pytest.raises(SettingError, match=f"{variable}.*'~nouser_xyz/own'"):
        directory()


def test_the_platform_names_the_others(monkeypatch):
    for name in FOLDERS:
        monkeypatch.delenv(name, raising=False)
    assert cache_directory().name == data_directory().name == "lemmata"
    assert compilations_directory() == cache_directory()
    monkeypatch.setenv("LEMMATA_CACHE_DIR", "")
    assert compilations_directory() is None
