"""`python -m lemmata` is the command `lemmata`."""

from lemmata.cli import main

if __name__ == "__main__":
    main()
