"""`lemmata map`: write the catalogue as a static site, or print its counts."""

import gc
import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError


def map_catalogue(
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Write the site into this directory, which must be new, empty or an earlier site."
        ),
    ] = None,
    serving: Annotated[
        bool, typer.Option("--serve", help="Serve the site on this machine's loopback address until Ctrl-C.")
    ] = False,
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Public address of the site. The site then has canonical links, a sitemap and a feed."
        ),
    ] = None,
    repository: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Address of the code's repository. Each claim then links to its code in the repository."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Write the catalogue and the documentation as a static site that works offline.

    The site has a searchable table of all claims, the documentation, a map of the code, and a page for each claim,
    source and subject. The command does not run any claim.

    Without --out and --serve, the command prints how many claims there are by tool, architecture, object and kind, and
    how many results the survey announces.
    """
    from ._console import plain

    if out is None and not serving:
        _refuse_addresses(base_url, repository)
        from lemmata.engine.catalogue import counts, told_counts

        plain(json.dumps(counts(), indent=1) if as_json else "\n".join(told_counts()))
        return
    if as_json:
        raise SettingError(
            "--json with --out or --serve",
            rule="--json prints only the counts, so it cannot be combined with --out or --serve",
            remedy="leave one of them out",
        )
    from lemmata.interfaces.site import Published, own_files, serve

    where = Published(base_url or "", repository or "")
    if out is not None and not serving:
        plain(f"{_written(out, where)}")
        return

    with tempfile.TemporaryDirectory() as place:
        page = _written(out or Path(place) / "site", where)
        names = frozenset(own_files(page.parent))
        serve(page.parent, names, lambda address: plain(f"{address}  (Ctrl-C ends it)"))


def _refuse_addresses(base_url: str | None, repository: str | None) -> None:
    """Refuse addresses if no site is written."""
    given = [name for name, address in (("--base-url", base_url), ("--repository", repository)) if address is not None]
    if given:
        raise SettingError(
            f"{' and '.join(given)} without --out or --serve",
            rule="these addresses are used only in the pages of a site",
            remedy="add --out DIR, or leave them out",
        )


def _written(directory: Path, where: Any) -> Path:
    """Check the directory, write the site into it, and return the path of the first page.

    The garbage collector waits meanwhile, and never scans what was made. It would scan all code that was read several
    times, and it would free little.
    """
    from lemmata.interfaces.site import own_files, write_site

    from ._console import err
    from ._files import prepare_directory
    from ._progress import StageProgress

    own_files(directory)
    prepare_directory(directory, "index.html")
    gc.disable()
    try:
        with StageProgress(err) as progress:
            return write_site(directory, progress, where)
    finally:
        gc.freeze()
        gc.enable()
