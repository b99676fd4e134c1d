"""The command `lemmata`, which `python -m lemmata` also runs."""

from lemmata.code_files import forget_current_folder


def main() -> None:
    """Run the command line. This is the entry point `lemmata`."""
    forget_current_folder()  # before anything else is imported
    from lemmata.interruption import end_silently

    end_silently()
    from lemmata.interfaces.cli import main as run

    run()


if __name__ == "__main__":
    main()
