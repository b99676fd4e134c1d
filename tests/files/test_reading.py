"""What a user names as a file is opened without waiting, and refused where it is none."""

import os
import socket

import pytest

from lemmata import files
from lemmata.files import check_file, open_file, read_text


@pytest.fixture(params=["named pipe", "directory", "socket", "device"])
def odd(request, tmp_path, monkeypatch):
    """Something that stands where a file should, and what it is."""
    path = tmp_path / "odd"
    if request.param == "named pipe":
        os.mkfifo(path)
    elif request.param == "directory":
        path.mkdir()
    elif request.param == "socket":
        monkeypatch.chdir(tmp_path)  # addresses are short
        with socket.socket(socket.AF_UNIX) as own:
            own.bind("odd")
    else:
        path = "/dev/zero"
    return path, request.param


@pytest.mark.parametrize("read", [open_file, check_file, read_text])
def test_what_is_no_file_is_refused_at_once(odd, read):
    path, kind = odd
    with pytest.raises(OSError, match=f"it is a {kind}") as error:
        read(path)
    assert error.value.filename == os.fspath(path)


def test_a_file_that_became_a_pipe_is_refused(tmp_path, monkeypatch):
    """It is looked at after it was opened: what stands there before says nothing."""
    path = tmp_path / "a"
    path.write_text("text")
    assert read_text(path) == "text"
    opened = os.open

    def late(*words):
        path.unlink()
        os.mkfifo(path)
        return opened(*words)

    monkeypatch.setattr(files.os, "open", late)
    with pytest.raises(OSError, match="named pipe"):
        read_text(path)


def test_a_file_that_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "a")


def test_a_name_that_is_not_utf_8(tmp_path):
    path = tmp_path / os.fsdecode(b"a\xff.txt")
    assert read_text(files.replace_text(path, f"in {path.name}")) == r"in a\udcff.txt"
    assert os.listdir(os.fsencode(tmp_path)) == [b"a\xff.txt"]
