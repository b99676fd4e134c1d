"""Additions to a site that is published under an address: canonical links, a sitemap and a feed."""

import dataclasses
import datetime
import email.utils
import re
from typing import Any
from urllib.parse import quote, urlsplit

from markupsafe import Markup, escape

from lemmata.errors import SettingError
from lemmata.version import __version__

from ._front import ABOUT, last_changed
from ._pages import HEAD, claim_address, page
from ._sizes import sized

_FED = 60
"""The number of claims in the feed."""
_PICTURE = "docs/pictures/study_page.png"
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2f62b5"/>'
    '<path d="M9 26 15.5 12 13.4 7H10M15.5 12l6.6 14H25" fill="none" stroke="#fff" stroke-width="3"/></svg>\n'
)
"""The icon of the site: a lambda."""


@dataclasses.dataclass(frozen=True)
class Published:
    """The address of a site, and the address of its code.

    Args:
        base: the address of its first page without the file's name, or empty.
        repository: the address of the repository, or empty.

    Raises:
        SettingError: for an address that is not a web address.
    """

    base: str = ""
    repository: str = ""

    def __post_init__(self) -> None:
        for option, address in (("--base-url", self.base), ("--repository", self.repository)):
            parts = urlsplit(address)
            if address and (parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment):
                raise SettingError(
                    f"{option} {address}",
                    rule="a complete address https://HOST/PATH",
                    remedy="give the whole address, beginning with https://",
                )
            object.__setattr__(self, option.removeprefix("--").partition("-")[0], address.rstrip("/"))

    def code(self, file: str, line: int) -> str:
        """The address of a line of the package's code at this version; empty without a repository."""
        return f"{self.repository}/blob/v{__version__}/src/lemmata/{file}#L{line}" if self.repository else ""


def finished(pages: dict[str, str | bytes], where: Published, known: list[dict[str, Any]]) -> dict[str, str | bytes]:
    """Return the pages with head elements for search engines and sizes of pictures, and a sitemap, a feed and the like.

    Args:
        pages: all pages and files, by their addresses.
        where: the address of the site.
        known: rows of the catalogue.
    """
    found = dict(pages)
    found["404.html"] = page("missing.html", "404.html", "", "There is no such page", base=where.base)
    found |= {"favicon.svg": _ICON, "robots.txt": _robots(where)}
    if where.base:
        claims = {claim_address(row) for row in known}
        left_out = {name for name in found if name.startswith("claims/") and name not in claims} | {"404.html"}
        html = sorted(name for name in found if name.endswith(".html") and name not in left_out)
        found |= {"sitemap.xml": _sitemap(where, html), "feed.xml": _feed(where, known)}
    for name, text in found.items():
        if isinstance(text, str) and name.endswith(".html"):
            found[name] = sized(name, text.replace(HEAD, str(_head(name, where)), 1), pages)
    return found


def _url(where: Published, name: str) -> str:
    folder = re.sub("(^|/)index.html$", r"\1", name)
    return f"{where.base}/{quote(folder)}"


def _head(name: str, where: Published) -> Markup:
    """The lines of a page's head that need the address of the site. Empty without an address."""
    if not where.base or name == "404.html":
        return Markup("")
    url, picture = _url(where, name), _url(where, _PICTURE)
    return Markup(
        '<link rel="canonical" href="{0}">\n<meta property="og:url" content="{0}">\n'
        '<meta property="og:image" content="{1}">\n'
        '<link rel="alternate" type="application/rss+xml" title="Changed verdicts and new claims" href="{2}">\n'
    ).format(url, picture, _url(where, "feed.xml"))


def _robots(where: Published) -> str:
    return "User-agent: *\nAllow: /\n" + (f"Sitemap: {_url(where, 'sitemap.xml')}\n" if where.base else "")


def _sitemap(where: Published, names: list[str]) -> str:
    lines = "".join(f"<url><loc>{escape(_url(where, name))}</loc></url>\n" for name in names)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{lines}</urlset>\n'
    )


def _feed(where: Published, known: list[dict[str, Any]]) -> str:
    """The feed: the changed verdicts, followed by the new claims. In both parts, the latest day comes first.

    A claim with a changed verdict appears again, because the entry for the new verdict has another name.
    """
    fed = sorted(last_changed(known), key=lambda row: not row["before"])[:_FED]
    items = "".join(
        str(
            Markup(
                "<item><title>{0}{6}: {1}</title><link>{2}</link><pubDate>{7}</pubDate>"
                '<guid isPermaLink="false">lemmata:{3}:{0}:{4}</guid><description>{5}</description></item>\n'
            ).format(
                row["status"], row["title"], _url(where, claim_address(row)), row["tag"],
                row["since"], (row.get("verdict") or {}).get("reason", ""),
                f", earlier {row['before']}" if row["before"] else "", _mailed(row["since"]),
            )
        )
        for row in fed
    )  # fmt: skip
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>'
        f"<title>lemmata: changed verdicts and new claims</title>"
        f"<link>{escape(_url(where, 'index.html'))}</link><description>{escape(ABOUT)}</description>\n"
        f"{items}</channel></rss>\n"
    )


def _mailed(day: str) -> str:
    """A day, such as "2026-11-28", in the form that feeds use.

    >>> _mailed("2026-11-28")
    'Sat, 28 Nov 2026 00:00:00 +0000'
    """
    return email.utils.format_datetime(datetime.datetime.fromisoformat(f"{day}T00:00:00+00:00"))
