"""The two photographs that come with scikit-learn."""

import warnings

import numpy as np
from jaxtyping import Float
from sklearn.datasets import load_sample_image

from lemmata.errors import DataError

_NAMES = ("china", "flower")


def photographs() -> dict[str, Float[np.ndarray, "h w 3"]]:
    """Return scikit-learn's photographs "china" and "flower", 427 by 640 pixels with float32 values in [0, 1].

    scikit-learn reads the files with Pillow, which `pip install 'lemmata[photographs]'` installs. Nothing is
    downloaded.

    Raises:
        DataError: if Pillow or a file is missing.

    Example:
        >>> from lemmata.subjects.operators import photographs
        >>> {name: image.shape for name, image in photographs().items()}
        {'china': (427, 640, 3), 'flower': (427, 640, 3)}
    """
    try:
        with warnings.catch_warnings():
            # warnings of Pillow about future versions do not matter for reading two files
            warnings.simplefilter("ignore")
            return {name: (load_sample_image(f"{name}.jpg") / np.float32(255)).astype(np.float32) for name in _NAMES}
    except (ImportError, OSError, AttributeError) as error:
        raise DataError(
            "photographs of scikit-learn",
            found=str(error).strip().splitlines()[0],
            rule="the files china.jpg and flower.jpg of scikit-learn, and Pillow to read them",
            remedy="install Pillow with pip install 'lemmata[photographs]'",
        ) from error
