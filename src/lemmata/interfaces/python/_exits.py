"""Tell the caller if code of the user, such as a model or a scorer, tries to end the program."""

import contextlib
from collections.abc import Iterator

from lemmata.errors import SettingError, line_of


@contextlib.contextmanager
def exits_told() -> Iterator[None]:
    """A context, or a decorator of a function, in which an end of the program (SystemExit) becomes an error.

    Without it, the caller's program would end without a message, and with exit code 0 after `sys.exit(0)`.

    Raises:
        SettingError: if code of the user raises SystemExit.
    """
    try:
        yield
    except SystemExit as error:
        raise SettingError(
            "your own code ended the computation",
            found=line_of(error),
            rule="a model or a function that you pass must return or raise an error, and must not end the program",
            remedy="remove sys.exit and similar calls from your code",
        ) from error
