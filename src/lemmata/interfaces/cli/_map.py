"""`lemmata map`: the catalogue as a static site, or its counts."""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError


def map_catalogue(
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write the site here: an empty or new directory, or an earlier site."),
    ] = None,
    serving: Annotated[
        bool, typer.Option("--serve", help="Show the site on this machine's loopback address until Ctrl-C.")
    ] = False,
    base_url: Annotated[
        str, typer.Option(metavar="URL", help="Where the site will stand; adds canonical links, a sitemap and a feed.")
    ] = "",
    repository: Annotated[
        str, typer.Option(metavar="URL", help="The code's repository; claims then link to their code in it.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Write the catalogue and the documentation as a static site that needs no server and no network.

    It has a table of all claims to search and filter, a page a claim, a source and a subject, the map of what stands on
    what, and the documentation; no claim is run for it. Without --out and --serve the counts are printed: claims by
    tool, architecture, object and kind, beside what the survey announces.
    """
    from ._console import plain

    if out is None and not serving:
        from lemmata.engine.catalogue import counts, told_counts

        plain(json.dumps(counts(), indent=1) if as_json else "\n".join(told_counts()))
        return
    if as_json:
        raise SettingError(
            "--json with --out or --serve",
            rule="either --json, which prints the counts, or a page",
            remedy="leave one of them out",
        )
    from lemmata.interfaces.site import Published, serve

    where = Published(base_url, repository)
    if out is not None and not serving:
        plain(f"{_written(out, where)}")
        return

    with tempfile.TemporaryDirectory() as place:
        page = _written(out or Path(place) / "site", where)
        serve(page.parent, lambda address: plain(f"{address}  (Ctrl-C ends it)"))


def _written(directory: Path, where: Any) -> Path:
    """The first page of the site, written into a directory that was looked at beforehand."""
    from lemmata.interfaces.site import own_files, write_site

    from ._console import err
    from ._files import prepare_directory
    from ._progress import StageProgress

    own_files(directory)
    prepare_directory(directory, folders=(), files=("index.html",))
    with StageProgress(err) as progress:
        return write_site(directory, progress, where)
