"""Cache the encoded rows of splits, which all models of a study share."""

import threading

import numpy as np
from jaxtyping import Float64

from ._data import Dataset

KEPT_BYTES = 2**26
"""The largest size of all cached arrays: 64 MiB. Encoding a large table costs little compared with the fits."""


class Encoded:
    """`Dataset.encoded` with a cache.

    Several callers get the same array. So the returned arrays are read-only, and no caller can change the array of
    another caller.

    Args:
        dataset: the table.
    """

    def __init__(self, dataset: Dataset):
        self.dataset, self.lock = dataset, threading.Lock()
        self.kept: dict[tuple[bytes, bytes], np.ndarray] = {}
        self.size = 0

    def __call__(self, train: np.ndarray, others: np.ndarray) -> Float64[np.ndarray, "rows d"]:
        """Return the encoded training rows and other rows. The encoding is learned from the training rows."""
        key = train.tobytes(), others.tobytes()
        with self.lock:
            known = self.kept.get(key)
        if known is not None:
            return known
        rows = self.dataset.encoded(train, others)
        rows.flags.writeable = False
        needed = rows.nbytes + sum(map(len, key))
        with self.lock:
            if key not in self.kept and self.size + needed <= KEPT_BYTES:
                self.kept[key] = rows
                self.size += needed
        return rows
