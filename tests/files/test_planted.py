"""A folder may come from somebody else: what is planted in it leads no result to another place, and blocks none."""

import json
import os
import re

import pytest

from lemmata import results
from lemmata.errors import FileError, ForeignResultWarning
from lemmata.files import check_folder
from lemmata.results import finish, is_own, replace_files, writing

NAME = "study.json"
PLACE = f".lemmata-{NAME}-{'a' * 32}.whole"


@pytest.fixture(params=["listed", "not listed"])
def planted(tmp_path, request):
    """Plants a result that waits to be moved: with a list of moves, as earlier versions wrote it, and without."""

    def plant(files=(), gone=()):
        whole = tmp_path / "own" / PLACE
        whole.mkdir()
        for kind, names in (("files", files), ("gone", gone)):
            for name in names:
                (whole / kind / name).parent.mkdir(parents=True, exist_ok=True)
                (whole / kind / name).write_text("evil" if kind == "files" else "")
        if request.param == "listed":
            (whole / "moves.json").write_text(json.dumps({"files": list(files), "gone": list(gone)}))
        return whole

    (tmp_path / "own").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious.txt").write_text("mine")
    return plant


def is_safe(tmp_path):
    """Readers and writers leave the other folder as it is, and a writer can still write."""
    finish(tmp_path / "own", NAME)
    home = {path.name: path.read_text() for path in (tmp_path / "home").iterdir()}
    replace_files(tmp_path / "own", NAME, {NAME: "new"})
    assert (tmp_path / "own" / NAME).read_text() == "new"
    assert not (tmp_path / "own" / NAME).is_symlink()
    return home == {path.name: path.read_text() for path in (tmp_path / "home").iterdir()} == {"precious.txt": "mine"}


@pytest.mark.parametrize("link", ["link", "link/deeper"])
def test_no_file_is_moved_or_removed_through_a_link(tmp_path, planted, link):
    (tmp_path / "own" / link).parent.mkdir(exist_ok=True)
    (tmp_path / "own" / link).symlink_to(tmp_path / "home")
    planted([f"{link}/precious.txt", f"{link}/new.txt"], [f"{link}/other.txt"])
    assert is_safe(tmp_path)


def test_no_file_is_removed_through_a_link(tmp_path, planted):
    (tmp_path / "own" / "link").symlink_to(tmp_path / "home")
    planted(gone=["link/precious.txt"])
    assert is_safe(tmp_path)


@pytest.mark.parametrize("name", ["../home/precious.txt", "/precious.txt"])
def test_a_list_of_moves_is_not_read(tmp_path, planted, name):
    (planted() / "moves.json").write_text(json.dumps({"files": [name], "gone": [name]}))
    assert is_safe(tmp_path)


def test_a_link_is_no_file_of_a_result(tmp_path, planted):
    whole = planted(["a.txt"])
    (whole / "files" / "a.txt").unlink()
    (whole / "files" / "a.txt").symlink_to(tmp_path / "home" / "precious.txt")
    finish(tmp_path / "own", NAME)
    assert not (tmp_path / "own" / "a.txt").exists()
    assert is_safe(tmp_path)


@pytest.mark.parametrize("place", ["", "files"])
def test_files_are_not_moved_out_of_a_folder_behind_a_link(tmp_path, planted, place):
    whole = planted(["precious.txt"])
    kept = tmp_path / "kept"
    (whole / place).rename(kept)
    (whole / place).symlink_to(kept)
    finish(tmp_path / "own", NAME)
    assert next(kept.rglob("precious.txt")).read_text() == "evil"
    assert is_safe(tmp_path)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no numbers of users")
def test_a_result_of_another_user_is_not_moved(tmp_path, planted, monkeypatch):
    whole = planted(["a.txt"])
    (whole / "moves.json").unlink(missing_ok=True)
    monkeypatch.setattr(os, "getuid", lambda own=os.getuid: own() + 1)
    finish(tmp_path / "own", NAME)
    assert whole.exists()
    with pytest.warns(ForeignResultWarning, match="Move them yourself, or remove this folder") as told:
        assert is_safe(tmp_path)
    assert not (tmp_path / "own" / "a.txt").exists()
    [kept] = tmp_path.glob(f"own/{NAME}-of-user-{os.getuid() - 1}-aaaaaaaa")
    assert (kept / "files" / "a.txt").read_text() == "evil"
    assert str(kept) in str(told[0].message)
    assert is_safe(tmp_path)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="this system has no numbers of users")
def test_a_result_of_another_user_that_cannot_be_renamed_stays(tmp_path, planted, monkeypatch):
    whole = planted(["a.txt"])
    (whole / "moves.json").unlink(missing_ok=True)
    monkeypatch.setattr(os, "getuid", lambda own=os.getuid: own() + 1)
    (tmp_path / "own" / f"{NAME}-of-user-{os.getuid() - 1}-aaaaaaaa").write_text("a file in its place")
    with pytest.warns(ForeignResultWarning, match=re.escape(str(whole))):
        assert is_safe(tmp_path)
    assert (whole / "files" / "a.txt").read_text() == "evil"


def test_a_link_that_is_made_after_the_check_leads_nowhere(tmp_path, planted, monkeypatch):
    monkeypatch.setattr(results, "check_place", lambda folder, name: None)
    (tmp_path / "own" / "link").symlink_to(tmp_path / "home")
    planted(["link/new.txt"])
    with pytest.raises(FileError, match="the next command moves this result to its place"):
        replace_files(tmp_path / "own", NAME, {NAME: "new"})
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["precious.txt"]


def test_nothing_is_removed_through_a_link_that_is_made_after_the_check(tmp_path, planted, monkeypatch):
    monkeypatch.setattr(results, "check_place", lambda folder, name: None)
    (tmp_path / "own" / "link").symlink_to(tmp_path / "home")
    planted(gone=["link/precious.txt"])
    assert is_safe(tmp_path)


@pytest.mark.parametrize("text", ["", "[1]", '{"files": [3], "gone": []}', "[" * 200_000, '{"files": ["a\\u0000b"]}'])
def test_a_damaged_list_of_moves_does_not_block_the_folder(tmp_path, planted, text):
    whole = planted(["a.txt"])
    (whole / "moves.json").write_text(text)
    assert is_safe(tmp_path)
    assert not any(is_own(path.name) for path in (tmp_path / "own").iterdir())


def test_a_file_in_the_place_of_a_folder_does_not_block_the_folder(tmp_path, planted):
    (tmp_path / "own" / "report").mkdir()
    planted(["report"])
    assert is_safe(tmp_path)
    assert (tmp_path / "own" / "report").is_dir()


def test_a_draft_of_another_result_is_not_removed(tmp_path):
    """The name of one result may begin with the name of the other."""
    other = tmp_path / f".lemmata-{NAME}-b.json-{'a' * 32}.draft"
    other.mkdir()
    replace_files(tmp_path, NAME, {NAME: "new"})
    assert other.exists()


@pytest.mark.parametrize("kind", ["link", "link to nothing", "hard link", "folder", "pipe"])
def test_a_lock_is_a_regular_file_with_one_name(tmp_path, kind):
    lock, precious = tmp_path / f".lemmata-{NAME}.lock", tmp_path / "precious.txt"
    precious.write_text("mine")
    {
        "link": lambda: lock.symlink_to(precious),
        "link to nothing": lambda: lock.symlink_to(tmp_path / "made.txt"),
        "hard link": lambda: lock.hardlink_to(precious),
        "folder": lock.mkdir,
        "pipe": lambda: os.mkfifo(lock),
    }[kind]()
    with pytest.raises(FileError, match=r"the lock .*study\.json\.lock cannot be used; found .*; remedy: remove it"):
        replace_files(tmp_path, NAME, {NAME: "new"})
    assert precious.read_text() == "mine"
    assert not (tmp_path / "made.txt").exists()
    assert not (tmp_path / NAME).exists()


def test_a_result_is_not_written_through_a_link_below_its_folder(tmp_path):
    own, home = tmp_path / "own", tmp_path / "home"
    home.mkdir()
    (home / "index.html").write_text("mine")
    own.mkdir()
    (own / "report").symlink_to(home)
    with pytest.raises(FileError, match=r"found .*report, which is a link; .*; remedy: remove the link"):
        replace_files(own, NAME, {NAME: "new", "report/index.html": "new"})
    replace_files(own, NAME, {NAME: "new"}, gone=["report/index.html"])
    assert (home / "index.html").read_text() == "mine"
    (tmp_path / "link").symlink_to(own)  # the user's own folder may be a link
    replace_files(tmp_path / "link", NAME, {NAME: "newer"})
    assert (own / NAME).read_text() == "newer"


def test_a_folder_that_was_made_and_stayed_empty_is_removed(tmp_path):
    with writing(tmp_path / "a" / "b", NAME):
        pass
    with pytest.raises(FileError), writing(tmp_path / "a" / "b", NAME) as result:
        result.replace({"report/index.html": "<p>", "report/index.html/x": "<p>"})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "a").mkdir()
    with writing(tmp_path / "a" / "b", NAME):
        pass
    assert list(tmp_path.rglob("*")) == [tmp_path / "a"]


def test_a_folder_is_checked_and_not_made(tmp_path):
    check_folder(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    for place in ("file", "file/a", "link", "link/a", "a" * 300):
        with pytest.raises(OSError, match=r"File exists|Not a directory|link to nothing|File name too long"):
            check_folder(tmp_path / place)
