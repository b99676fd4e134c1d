"""Errors of lemmata are the builtin errors that users catch, and no handler inside of lemmata takes them for others."""

import contextlib
import errno
import json
import multiprocessing
import pickle
import re
import signal
import threading
import types

import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import lemmata
from lemmata import errors
from lemmata.core import refusing_disk_errors, write_array
from lemmata.engine.claims import _keyed, find, load_file
from lemmata.engine.claims._trials import run_trials
from lemmata.engine.refutations import load_counterexample
from lemmata.files import replace_text
from lemmata.interfaces.cli import app
from lemmata.kernels import RBF, AbstractKernel, gram, open_gram
from lemmata.solvers import conjugate_gradients
from lemmata.storage import _transformers, load, load_layers, load_transformer, save
from lemmata.subjects.robustness import _reading
from lemmata.subjects.trained_models import read_model
from lemmata.subjects.trained_models._documents import language_model
from lemmata.workers import Processes
from lemmata.workflows.examinations._program import load_program
from lemmata.workflows.studies import StudyRecord, load_dataset, read_arrays
from lemmata.workflows.studies._usual import _validated

ALSO = {
    errors.DataError: (ValueError,),
    errors.ShapeError: (ValueError,),
    errors.UnknownNameError: (ValueError,),
    errors.ClaimError: (ValueError,),
    errors.SettingError: (ValueError, TypeError),
    errors.FileError: (errors.DataError, ValueError, OSError),
    errors.MissingFileError: (errors.FileError, errors.UnknownNameError, FileNotFoundError),
    errors.MissingDataError: (errors.DataError, ImportError),
    errors.PrecisionError: (TypeError,),
    errors.NotPositiveDefiniteError: (ValueError,),
    errors.MemoryPlanError: (MemoryError,),
    errors.SolverError: (RuntimeError,),
}
GIVEN = {"found": "{'b': 3}", "rule": "at least 'one'", "remedy": "give it"}


def own_errors():
    public = (each for each in vars(errors).values() if isinstance(each, type))
    return [each for each in public if issubclass(each, errors.LemmataError) and each is not errors.LemmataError]


def test_every_error_is_in_the_table():
    assert set(own_errors()) == set(ALSO)


@pytest.mark.parametrize("kind", own_errors(), ids=lambda kind: kind.__name__)
def test_an_error_is_what_users_catch_and_says_what_it_said(kind):
    error = kind("setting 'n'", **GIVEN)
    assert isinstance(error, errors.LemmataError)
    for builtin in ALSO[kind]:
        assert isinstance(error, builtin)
    words = "setting 'n'; found {'b': 3}; rule: at least 'one'; remedy: give it"
    assert (str(error), error.args) == (words, (words,))
    assert getattr(error, "errno", None) is None
    assert isinstance(kind.__new__(kind), kind)  # as pickles of Dask's make it
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (kind, words, vars(error))


def raised(kind):
    raise kind("setting 'n'", **GIVEN)


def test_errors_of_a_worker_arrive_as_they_were_raised():
    with Processes(1) as processes:
        for kind in own_errors():
            with pytest.raises(kind, match="setting 'n'") as found:
                processes.submit(raised, kind).result()
            assert type(found.value) is kind
            assert vars(found.value).items() >= GIVEN.items()


MISSING = {
    "study": lambda: lemmata.study("no.csv"),
    "study, a folder": lambda: lemmata.study("nowhere/no.parquet"),
    "study, a bare name": lambda: lemmata.study("noiris"),
    "study, a model of the user's": lambda: lemmata.study("iris", model="no.py:make"),
    "compare": lambda: lemmata.compare("no.npz"),
    "compare, a bare name": lambda: lemmata.compare("nolookup"),
    "Study.load": lambda: lemmata.Study.load("no.json"),
    "ModelStudy.load": lambda: lemmata.ModelStudy.load("no.json"),
    "Comparison.load": lambda: lemmata.Comparison.load("no.json"),
    "load_dataset": lambda: load_dataset("no.tsv", "y"),
    "storage": lambda: load("no.safetensors"),
    "a transformer": lambda: load_transformer("no.safetensors"),
    "its layers": lambda: load_layers("no.safetensors"),
    "a matrix on disk": lambda: open_gram("nodirectory"),
    "a file of claims": lambda: load_file("no.py"),
    "a claim of a file": lambda: find("no.py:Claim"),
    "a counterexample": lambda: load_counterexample("no"),
    "a program": lambda: load_program("no.py"),
}


@pytest.mark.parametrize("entrance", MISSING)
def test_a_missing_file_is_a_file_not_found_error(entrance, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"\bno") as found:
        MISSING[entrance]()
    assert type(found.value) is errors.MissingFileError
    assert "\n" not in str(found.value)


COMMANDS = {
    "study": ["study", "no.csv", "--target", "y"],
    "study --model": ["study", "iris", "--model", "no.py:make"],
    "compare": ["compare", "no.npz"],
    "report": ["report", "no.json"],
    "report of two": ["report", "no.json", "no.json"],
    "model": ["model", "no.py", "iris"],
    "model, its weights": ["model", "net.py", "iris", "--weights", "no.safetensors"],
    "model, its rows": ["model", "net.py", "no.csv"],
    "verify": ["verify", "no.py"],
    "show": ["show", "no.py:Claim"],
    "refute": ["refute", "no.py"],
    "mutate": ["mutate", "no.py"],
    "ledger": ["ledger", "list", "--ledger", "no.sqlite"],
    "scaling": ["scaling", "no.csv"],
    "grokking": ["grokking", "no.csv"],
    "emergence": ["emergence", "no.csv"],
    "in-context": ["in-context", "no.csv", "--target", "y"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_file_is_one_error_on_the_command_line(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(
        "from sklearn.datasets import load_iris\nfrom sklearn.linear_model import LogisticRegression\n"
        "def build(): return LogisticRegression(max_iter=500).fit(*load_iris(return_X_y=True))\n"
    )
    done = CliRunner().invoke(app, COMMANDS[command])
    said = done.stderr.splitlines()
    assert done.exit_code == 2
    (line,) = [place for place, text in enumerate(said) if text.startswith("Error: ")]
    assert re.search(r"\bno\.", " ".join(said[line:]))
    assert all(re.match(r"  (found|rule|remedy): ", text) for text in said[line + 1 :])
    assert "Traceback" not in done.output


def test_what_cannot_be_written_is_an_os_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file/inside"):
        write_array(tmp_path / "file" / "inside", np.ones(2))
    with pytest.raises(OSError, match="cannot be written"):
        replace_text(tmp_path / "file" / "inside", "words")
    with pytest.raises(OSError, match="a file that can be written"):
        save(RBF(1.0), tmp_path / "file" / "inside")


# Handlers of builtin errors inside of lemmata, which let its own errors pass


def test_a_record_of_another_version_says_so():
    with pytest.raises(errors.DataError, match=r"^study\.json was written by another version"):
        StudyRecord.from_json(json.dumps({"schema": 0}))


def test_an_archive_that_is_too_large_is_no_damaged_one(tmp_path):
    np.savez(tmp_path / "large.npz", x=np.ones((50, 2)), y=np.ones(50))
    with pytest.raises(MemoryError, match="are too large to read") as found:
        read_arrays(tmp_path / "large.npz", 10)
    assert type(found.value) is errors.MemoryPlanError


def refuse(*_, **__):
    raise errors.SettingError("alpha", found=-1, rule="above 0")


def test_a_model_that_refuses_its_setting_is_not_the_worst_of_several():
    with pytest.raises(errors.SettingError, match="alpha"):
        _validated(refuse, np.ones((10, 1)), np.ones((10, 1)), "regression")
    broken = types.SimpleNamespace(fit=lambda x, y: int("none"))
    assert _validated(lambda: broken, np.ones((10, 1)), np.ones((10, 1)), "regression") == np.inf


@pytest.mark.parametrize(
    ("cause", "told"),
    [(errors.ShapeError("omega"), False), (errors.SettingError("layers"), True), (ValueError("omega"), True)],
)
def test_errors_about_the_contents_of_a_transformer(cause, told):
    with pytest.raises(errors.LemmataError) as found, _transformers._refusing("model.safetensors"):
        raise cause
    assert ("damaged contents" in str(found.value)) is told
    assert (found.value is cause) is not told


class Refusing(AbstractKernel):
    """A kernel that refuses points in words of its own."""

    error: type[Exception]

    def __call__(self, x, y):
        raise self.error("letters of the kernel")


@pytest.mark.parametrize("kind", [errors.DataError, errors.SettingError, errors.ShapeError, errors.PrecisionError])
def test_what_a_kernel_says_of_fields_stays(kind):
    with pytest.raises(kind, match=r"^letters of the kernel"):
        gram(Refusing(kind), jnp.ones((2, 3, 4)))
    with pytest.raises(errors.ShapeError, match="for which the kernel fails"):
        gram(Refusing(ValueError), jnp.ones((2, 3, 4)))


def test_what_a_product_says_stays_in_conjugate_gradients():
    with pytest.raises(errors.SettingError, match=r"^alpha"):
        conjugate_gradients(refuse, jnp.ones((3, 1)), 1.0)
    with pytest.raises(errors.ShapeError, match="TypeError"):
        conjugate_gradients(lambda v: None + v, jnp.ones((3, 1)), 1.0)


def test_what_a_language_model_says_of_documents_stays():
    tokens = np.zeros((2, 4), int)
    with pytest.raises(errors.SettingError, match=r"^alpha"):
        language_model(read_model((refuse, {"w": np.ones(2)})), tokens)
    failing = read_model((lambda params, x: params["nobody"], {"w": np.ones(2)}))
    with pytest.raises((errors.ShapeError, KeyError)):
        language_model(failing, tokens)


def test_what_a_layer_says_of_its_input_stays_in_certificates():
    step = _reading._Affine(None, refuse, refuse)
    with pytest.raises(errors.SettingError, match=r"^alpha"):
        _reading._matrix(step, (2, 2))
    unclear = _reading._Affine(None, int, int)
    with pytest.raises(errors.ShapeError, match="that the network can read"):
        _reading._matrix(unclear, (2, 2))


def test_a_disk_error_is_told_once():
    told = pytest.raises(errors.FileError, match=r"^the tile")
    with told as found, refusing_disk_errors("the folder"), refusing_disk_errors("the tile"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert found.value.remedy.startswith("free space")


class Absent:
    """What looks for a file of its own where it is received."""

    def __reduce__(self):
        return raised, (errors.MissingFileError,)


def test_a_section_that_misses_its_file_does_not_end_a_process_in_silence(monkeypatch):
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(_keyed, "share_cores", lambda *_: None)
    monkeypatch.setattr(threading.Thread, "start", lambda _: None)
    here, there = multiprocessing.Pipe()
    there.send(Absent())
    with pytest.raises(errors.MissingFileError):
        _keyed._serve(here, run_trials, contextlib.nullcontext, (0, 1))
    there.close()
    _keyed._serve(here, run_trials, contextlib.nullcontext, (0, 1))
