"""`python -m lemmata` is the command `lemmata`."""

from lemmata.interfaces.cli import main

if __name__ == "__main__":
    main()
