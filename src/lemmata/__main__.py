"""`python -m lemmata` is the command `lemmata`."""

from lemmata.code_files import forget_current_folder

if __name__ == "__main__":
    forget_current_folder()  # before anything else is imported
    from lemmata.interfaces.cli import main

    main()
