"""Run the user's own program, a Python file that builds the model, and read a file of weights for the model."""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from lemmata.code_files import executed, importing_beside
from lemmata.errors import DataError, MissingFileError, SettingError, file_error
from lemmata.files import check_file
from lemmata.subjects.trained_models import stated_loss, with_weights

_CONVERT = {
    ".pt": "import torch, safetensors.torch as s; "
    "s.save_file(torch.load({old!r}, weights_only=True), 'net.safetensors')",
    ".pkl": "safetensors.torch.save_file(module.state_dict(), 'net.safetensors')",
    ".joblib": "pass the estimator in Python: lemmata.study_model(joblib.load({old!r}), x, y)",
    ".npz": "import numpy, safetensors.numpy as s; s.save_file(dict(numpy.load({old!r})), 'net.safetensors')",
}
_CONVERT |= {
    ".msgpack": "import lemmata.subjects.trained_models as own; safetensors.numpy.save_file("
    "own.weights((module, variables)), 'net.safetensors')",
    ".eqx": "import lemmata.subjects.trained_models as own; safetensors.numpy.save_file("
    "own.weights(module), 'net.safetensors')",
}
_CONVERT |= {".pth": _CONVERT[".pt"], ".bin": _CONVERT[".pt"], ".ckpt": _CONVERT[".pt"]}


@dataclasses.dataclass(frozen=True)
class Program:
    """The facts that a program states about a model.

    Args:
        name: the name of the file of the program.
        model: the model in a form that `read_model` takes, with the weights of the weights file if there is one.
        privacy: the fact `noised` (sampling, noise and steps of private training); None if the program does not state
            it.
        task: "language" if the program states this; None if the targets determine the task.

    The other fields are facts of `lemmata.facts.Facts`, in the form that `read_trained` takes.
    """

    name: str
    model: Any
    start: Any = None
    fit: Callable[..., Any] | None = None
    decay: float | None = None
    loss: Any = None
    labels: tuple[Any, ...] | None = None
    checkpoints: tuple[Any, ...] = ()
    privacy: Any = None
    task: str | None = None
    padding: int | None = None
    scale: float | None = None
    sizes: tuple[Any, ...] = ()


def load_program(
    path: str | Path, weights: str | Path | None = None, start: str | Path | None = None,
    checkpoints: tuple[str | Path, ...] = (), sizes: tuple[str | Path, ...] = (),
) -> Program:  # fmt: skip
    """Run a user's program, and put weights into the model that the program builds.

    The program is executed like any Python file. The program must define `build()`, which returns a model that
    `read_model` accepts. The program may also define `fit(x, y, seed, start=None)`, `decay`, `loss`, `labels` and
    `privacy = {"sampling": q, "noise": sigma, "steps": T}`. A language model returns logits (n, T, vocabulary) for
    tokens (n, T). Its program sets `task = "language"` and, if needed, `padding = 0`. `scale = 255.0` states that all
    inputs have the same unit and that their size is at most 255. `sizes()` returns models of other sizes that were
    trained in the same way.

    Args:
        path: the program.
        weights: a safetensors file with the parameters by their names; None if `build` returns a trained model.
        start: a safetensors file with the parameters at the start of training.
        checkpoints: safetensors files with the weights at earlier times of training, in the order of time.
        sizes: safetensors files with the weights of the models that `sizes()` returns, in the order of these models;
            empty if the models are already trained.

    Raises:
        DataError: if the program is missing, fails or does not define `build`.
        SettingError: if the weights are not in the safetensors format, or a definition in the program has a wrong type.
        ShapeError: if the weights do not fit; the message gives the first three differences.
    """
    path = Path(path)
    given = (("--weights", weights), ("--start", start))
    own, begun = (None if file is None else read_weights(file, option) for option, file in given)
    several = (("--checkpoint", checkpoints), ("--size", sizes))
    earlier, arrays = ([read_weights(file, option) for file in files] for option, files in several)
    with importing_beside(path):
        module = _executed(path)
        build = getattr(module, "build", None)
        if not callable(build):
            rule = "a function build() that returns the model"
            raise DataError(f"{path} defines no build()", rule=rule, remedy="write def build(): return Network()")
        model = _filled(build, path, weights, own)
        first = None if start is None else _filled(build, path, start, begun)
        before = tuple(_filled(build, path, *one) for one in zip(checkpoints, earlier, strict=True))
        others = _sizes(module, path, sizes, arrays)
    told = (
        _fit(module, path),
        _decay(module, path),
        stated_loss(_setting(module, "loss"), f"loss in {path}"),
        _labels(module, path),
    )
    noised = _setting(module, "privacy")
    own = *_language(module, path), _scale(module, path), others
    return Program(path.name, model, first, *told, before, noised, *own)


def _filled(build: Callable[[], Any], path: Path, file: str | Path | None, arrays: dict[str, np.ndarray] | None) -> Any:
    with _told(f"build() in {path} fails", "it must return the model"):
        model = build()
    return model if arrays is None else with_weights(model, arrays, Path(str(file)).name)


def _setting(module: Any, name: str) -> Any:
    """Return the object with this name in a program; None for functions, classes and modules that it has imported.

    For example, the line `from sklearn.preprocessing import *` imports a function `scale`, which does not count.
    """
    value = getattr(module, name, None)
    made = inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, np.ufunc)
    own = getattr(value, "__module__", None) == module.__name__
    return None if inspect.ismodule(value) or (made and not own) else value


def _decay(module: Any, path: Path) -> float | None:
    decay = _setting(module, "decay")
    if decay is not None and (isinstance(decay, bool) or not isinstance(decay, int | float)):
        raise SettingError(f"decay in {path}", found=repr(decay)[:80], rule="a number")
    return None if decay is None else float(decay)


def _scale(module: Any, path: Path) -> float | None:
    scale = _setting(module, "scale")
    if scale is not None and (isinstance(scale, bool) or not isinstance(scale, int | float)):
        raise SettingError(
            f"scale in {path}", found=repr(scale)[:80], rule="a number, the largest absolute value of an input"
        )
    return None if scale is None else float(scale)


def _sizes(
    module: Any, path: Path, files: tuple[str | Path, ...], arrays: list[dict[str, np.ndarray]]
) -> tuple[Any, ...]:
    """Return the models of other sizes that the program builds, with weights from files if files are given."""
    make: Any = getattr(module, "sizes", None)
    if make is None:
        if files:
            remedy = "write def sizes(): return [Network(8), Network(16), ...]"
            rule = "a function sizes() that returns the models"
            raise SettingError("--size", found=f"no sizes() in {path}", rule=rule, remedy=remedy)
        return ()
    if not callable(make):
        raise SettingError(f"sizes in {path}", found=repr(make)[:80], rule="a function that returns models")
    with _told(f"sizes() in {path} fails", "sizes() must return models of other sizes, trained in the same way"):
        made: Any = make()
        models = tuple(made)
    if files and len(files) != len(models):
        rule = f"{len(models)} files, one for each model that sizes() returns, in the order of the models"
        raise SettingError("--size", found=f"{len(files)} files", rule=rule)
    pairs = zip(models, arrays, files, strict=True) if files else ()
    return tuple(with_weights(*own[:2], Path(str(own[2])).name) for own in pairs) or models


def _labels(module: Any, path: Path) -> tuple[Any, ...] | None:
    labels = _setting(module, "labels")
    if labels is None:
        return None
    if isinstance(labels, str) or not hasattr(labels, "__iter__"):
        raise SettingError(f"labels in {path}", found=repr(labels)[:80], rule="the class of each output, in order")
    return tuple(labels)


def _language(module: Any, path: Path) -> tuple[str | None, int | None]:
    """Return "language" if a program builds a language model, otherwise None, and the number of the padding token."""
    task, padding = _setting(module, "task"), _setting(module, "padding")
    if task not in (None, "language"):
        rule = '"language", or no task at all, because lemmata infers other tasks from the targets'
        raise SettingError(f"task in {path}", found=repr(task)[:80], rule=rule)
    if padding is not None and (isinstance(padding, bool) or not isinstance(padding, int)):
        raise SettingError(f"padding in {path}", found=repr(padding)[:80], rule="the number of the padding token")
    return task, padding


def _fit(module: Any, path: Path) -> Callable[..., Any] | None:
    fit = getattr(module, "fit", None)
    if fit is not None and not callable(fit):
        raise SettingError(f"fit in {path}", found=repr(fit)[:80], rule="a function fit(x, y, seed, start=None)")
    return fit


@contextlib.contextmanager
def _told(what: str, rule: str) -> Iterator[None]:
    """Turn any error of the user's own code into a DataError of one line. A program that exits has also failed."""
    try:
        yield
    except (Exception, SystemExit) as error:
        raise DataError(what, found=_line(error), rule=rule) from error


def _executed(path: Path) -> Any:
    if path.suffix != ".py" or not path.is_file():
        found = "no such file" if not path.exists() else "a file that is not a Python program"
        kind = DataError if path.exists() else MissingFileError
        raise kind(f"{path}", found=found, rule="a Python file that defines build()")
    name = f"lemmata_user_{path.stem}"
    with _told(f"{path} fails", "a program that runs"):
        return executed(path, name, registered=True)


def _line(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def read_weights(path: str | Path, option: str = "--weights") -> dict[str, np.ndarray]:
    """Return the arrays of a safetensors file by their names.

    An error is raised if the file is not a readable safetensors file; its message names the option or the file.
    """
    path = Path(path)
    if path.suffix.lower() in _CONVERT:
        remedy = _CONVERT[path.suffix.lower()].format(old=path.name)
        raise SettingError(
            option, found=path.name, rule="a safetensors file, because reading this format runs no code", remedy=remedy
        )
    try:
        check_file(path)
    except OSError as error:
        found = error.strerror or str(error)
        raise file_error(error)(f"{option} {path} cannot be read", found=found, rule="a safetensors file",
                                remedy="check the path and its permissions") from error  # fmt: skip
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (SafetensorError, ValueError, KeyError, OSError, TypeError) as error:
        remedy = "save the arrays of this file again with safetensors.numpy.save_file"
        raise file_error(error)(
            f"{path} cannot be read", found=_line(error), rule="a safetensors file", remedy=remedy
        ) from error
