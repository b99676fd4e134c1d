"""Language models. Each row is a document, and the output of a row is the loss of the document."""

import dataclasses

import numpy as np
from jaxtyping import Int

from lemmata.errors import DataError, LemmataError, SettingError, ShapeError

from ._contract import AbstractModel
from ._task import Task

LANGUAGE = Task("documents", "losses of documents")
"""The task of a language model."""


def language_model(model: AbstractModel, x: Int[np.ndarray, "n T"]) -> AbstractModel:
    """Return the same model with one output per row, the loss of the document.

    Args:
        model: a model from documents (n, T) to logits (n, T, V). The logits at t are for the token at t + 1.
        x: the documents, as from `read_documents`.

    Raises:
        SettingError: if the model has no derivatives.
        ShapeError: if the outputs do not have the shape (n, T, V).
        DataError: if a token has no output.
    """
    rule = "a module or function from tokens (n, T) to logits (n, T, vocabulary)"
    if not model.differentiable:
        raise SettingError("language model", found=f"a {model.kind}", rule=rule)
    try:
        shape = model.vocabulary(x[:1])
    except LemmataError:
        raise
    except (TypeError, ValueError, RuntimeError, IndexError, AssertionError) as error:
        why = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ShapeError(
            "documents", found=f"{x.shape[1]} tokens each", rule=f"documents that the model accepts; it raised {why}"
        ) from error
    if len(shape) != 3 or shape[:2] != (1, x.shape[1]):
        raise ShapeError("outputs of a language model", found=f"{shape} for {(1, x.shape[1])} tokens", rule=rule)
    check_tokens(x, shape[2])
    return dataclasses.replace(model, link="documents")


def read_documents(x: np.ndarray, padding: int | None = None, name: str = "document") -> Int[np.ndarray, "n T"]:
    """Return documents as arrays in which -1 - k stands for a token k that is passed to the model but does not count.

    Args:
        x: (n, T) tokens. Tokens below 0 are already marked as tokens that do not count, and -1 is padding.
        padding: the token that fills up short documents.
        name: the name of a row in error messages.

    Raises:
        ShapeError: if the rows are not sequences of at least two tokens.
        DataError: if a token is not a whole number, or if a document has no token that counts after the first token.

    >>> read_documents(np.array([[5, 2, 7, 0, 0]]), padding=0).tolist()
    [[5, 2, 7, -1, -1]]
    """
    if x.ndim != 2 or x.shape[1] < 2:
        raise ShapeError(f"{name}s", found=f"shape {x.shape}", rule="(n, T) tokens, at least two in each document")
    if x.dtype.kind != "i":
        tokens = x.astype(np.int64)
        if not np.array_equal(tokens, x):
            raise DataError(
                f"{name}s", found="fractions", rule="tokens, which are whole numbers, or else rows with targets"
            )
        x = tokens
    if padding is not None:
        x = np.where(x == padding, -1 - x, x)
    empty = (x[:, 1:] < 0).all(1)
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        raise DataError(
            f"{name} {row + 1}",
            found="only padding after the first token",
            rule="at least one token after the first one",
        )
    return x


def check_tokens(x: Int[np.ndarray, "n T"], size: int, name: str = "document") -> None:
    """Raise DataError for a token beyond a vocabulary of this size."""
    tokens = np.where(x < 0, -1 - x, x)
    if tokens.max() >= size:
        row = int(np.flatnonzero((tokens >= size).any(1))[0])
        rule = f"below {size}, the size of the vocabulary"
        raise DataError(f"{name} {row + 1}", found=f"token {tokens[row].max()}", rule=rule)
