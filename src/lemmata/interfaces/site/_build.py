"""Write the site: make all pages first, then write them. Files that do not belong to the site are not changed."""

import collections
import importlib.resources
import json
import pathlib
from collections.abc import Callable
from typing import Any

from lemmata.engine.catalogue import rows, tags
from lemmata.errors import SettingError
from lemmata.files import through_link
from lemmata.results import finish, is_own, writing
from lemmata.stored import Told, built, parsed, read_bytes

from ._claims import claim_page, withdrawn_page
from ._documents import document_pages
from ._download import download_files
from ._front import front_page
from ._gallery import gallery_pages
from ._house import house_page
from ._pages import claim_address, subject_address
from ._published import Published, finished
from ._reference import public_addresses, reference_pages
from ._search import search_pages
from ._sources import source_pages
from ._subjects import subject_pages
from ._table import table_page

MANIFEST = "lemmata-site.json"
"""The file that lists the files of a site, so that the next run can find them."""
Progress = Callable[[str, int, int], None]


def write_site(
    directory: str | pathlib.Path,
    progress: Progress = lambda stage, done, total: None,
    where: Published = Published(),  # noqa: B008 (frozen)
) -> pathlib.Path:
    """Write the whole site into a directory that is empty, does not exist, or holds an earlier site.

    Pages from an earlier run, also an interrupted one, are replaced. Pages that no longer exist are removed. Nothing
    else is changed.

    Args:
        directory: the folder of the site.
        progress: a function that is called with the stage, the number of its finished pages, and the number of all its
            pages.
        where: the addresses of the published site and of its code.

    Returns:
        The path of the first page.

    Raises:
        SettingError: if the directory is a file, cannot be written to, or has files that do not belong to a site.
        DataError: if a page cannot be written.
    """
    directory = pathlib.Path(directory)
    own_files(directory)  # refuses a directory with foreign files before anything is written into it
    with writing(directory, MANIFEST) as result:
        earlier = own_files(directory)
        pages = site(progress, where)
        foreign = sorted(
            name for name in pages
            if through_link(directory, name) or (name not in earlier and (directory / name).exists())
        )  # fmt: skip
        if foreign:
            found = f"{foreign[0]}, which does not belong to the site"
            raise SettingError(f"--out {directory}", found=found, rule=_RULE, remedy=_REMEDY)
        manifest = json.dumps(sorted(pages), indent=0) + "\n"
        result.replace({**pages, MANIFEST: manifest}, gone=sorted(earlier - set(pages)))
    return directory / "index.html"


_RULE = "an empty or new directory, or one that contains an earlier site"
_REMEDY = "choose another directory with --out"


def own_files(directory: pathlib.Path) -> set[str]:
    """The files of a site in a directory; none if the directory is empty or does not exist.

    Raises:
        SettingError: if the path is a file, or a directory with files that do not belong to a site.
        DataError: if the site's list of files cannot be read.
    """
    finish(directory, MANIFEST)
    if not directory.exists():
        return set()
    if not directory.is_dir():
        raise SettingError(f"--out {directory}", found="a file", rule=_RULE, remedy=_REMEDY)
    manifest = directory / MANIFEST
    if not manifest.is_file():
        others = sorted(path.name for path in directory.iterdir() if not is_own(path.name))
        if others:
            raise SettingError(
                f"--out {directory} is not empty",
                found=f"{len(others)} other files, the first of them {others[0]}",
                rule=_RULE,
                remedy=_REMEDY,
            )
        return set()
    told = Told(f"file {manifest}", "the list of a site's files", _REMEDY)
    names = built(list[str], parsed(read_bytes(manifest, told.name, told.about), told), told)
    for name in names:
        if not name or "\0" in name:
            told.refuse(repr(name), "names of files")
    return {name for name in names if _below(name) and not through_link(directory, name)}


def _below(name: str) -> bool:
    """Whether a name in the site's list of files stays within the directory."""
    path = pathlib.PurePosixPath(name)
    return (
        path.as_posix() == name
        and not path.is_absolute()
        and not {".", ".."} & {name, *path.parts}
        and "\0" not in name
    )


def site(
    progress: Progress = lambda stage, done, total: None,
    where: Published = Published(),  # noqa: B008 (frozen)
) -> dict[str, str | bytes]:
    """The content of every file of the site, by its address."""
    known = _told_apart(rows())
    addresses = _addresses(known)
    by_name = {row["name"]: row for row in known}
    pages: dict[str, str | bytes] = {"site.css": _style(), "index.html": front_page(known)}
    pages |= {"claims.html": table_page(known), "house.html": house_page(known, addresses)}
    for others in (subject_pages, source_pages):
        pages |= others(known, addresses)
    pages |= reference_pages(addresses) | document_pages(addresses) | gallery_pages(addresses)
    pages |= search_pages(known) | download_files(known, where)
    for done, row in enumerate(known):
        progress("claims", done, len(known))
        pages[claim_address(row)] = claim_page(row, by_name, addresses, where)
    named = {row["class"] for row in known}
    for tag, name in tags().items():
        if name not in named:
            pages[f"claims/{tag}.html"] = withdrawn_page(tag, name)
    return finished(pages, where, known)


def _told_apart(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with distinct titles (a shared title gets the class name) and "Anonymous" for missing authors."""
    shared = collections.Counter(row["title"] for row in known)
    found = []
    for row in known:
        own = f" ({row['name'].rpartition('.')[2].replace('_', ' ')})" if shared[row["title"]] > 1 else ""
        anonymous = "Anonymous " if row["source"].startswith("(") else ""
        found.append({**row, "title": row["title"] + own, "source": anonymous + row["source"]})
    return found


def _addresses(known: list[dict[str, Any]]) -> dict[str, str]:
    """The addresses of the pages of claims, sections and subjects, by the names that docstrings use for them."""
    found = public_addresses()
    for row in known:
        found[row["name"]] = claim_address(row)
        found.setdefault(row["place"], subject_address(row))
        found.setdefault(row["place"].rpartition(".")[2], subject_address(row))
        found.setdefault(row["subject"], f"subjects/{row['subject']}.html")
    return found


def _style() -> str:
    """The style sheet of the reports, followed by that of the site."""
    return "\n".join(
        importlib.resources.files(package).joinpath("templates", name).read_text(encoding="utf-8")
        for package, name in (("lemmata.interfaces.report", "report.css"), ("lemmata.interfaces.site", "site.css"))
    )
