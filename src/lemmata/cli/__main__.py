"""`python -m lemmata.cli` is the command `lemmata`."""

from . import main

main()
