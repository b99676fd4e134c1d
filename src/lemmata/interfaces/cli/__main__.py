"""`python -m lemmata.interfaces.cli` is the command `lemmata`."""

from . import main

main()
