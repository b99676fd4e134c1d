"""Serve the site on the loopback address of this machine."""

import functools
import http
import http.server
import os
import pathlib
import re
import stat
import sys
import urllib.parse
from collections.abc import Callable
from typing import Any

ADDRESS = "127.0.0.1"
PORT = 8000
"""The port that is tried first; if it is taken, the system gives a free one."""
_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:[0-9]+)?", re.IGNORECASE)
_FRONT, _MISSING = "index.html", "404.html"
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json",
          ".svg": "image/svg+xml", ".png": "image/png", ".xml": "application/xml", ".csv": "text/csv",
          ".txt": "text/plain", ".md": "text/plain", ".py": "text/plain"}  # fmt: skip
_PATIENCE = 20  # the number of seconds that a browser has for its request


class _Pages(http.server.BaseHTTPRequestHandler):
    """A request handler that serves the files of a site, and only files that are listed by name."""

    timeout = _PATIENCE

    def __init__(self, *given: Any, directory: pathlib.Path, names: frozenset[str]):
        self._directory, self._names = directory, names
        super().__init__(*given)

    def do_GET(self) -> None:
        """Send a file of the site."""
        content = self._content()
        if content is not None and self.command != "HEAD":
            self.wfile.write(content)

    do_HEAD = do_GET

    def _content(self) -> bytes | None:
        """The requested file, after the head of the answer has been sent; None if an error was sent."""
        # The host name of another site may lead to this machine (DNS rebinding). Requests with such a name are refused.
        hosts = self.headers.get_all("Host") or [""]
        if len(hosts) > 1 or _HOST.fullmatch(hosts[0]) is None:
            return self.send_error(http.HTTPStatus.MISDIRECTED_REQUEST)
        name = urllib.parse.unquote(self.path.partition("?")[0].partition("#")[0]).removeprefix("/") or _FRONT
        content = _read(self._directory, name) if name in self._names else None
        status = http.HTTPStatus.OK
        if content is None:
            name, status = _MISSING, http.HTTPStatus.NOT_FOUND
            content = _read(self._directory, name) if name in self._names else None
            if content is None:
                return self.send_error(status)
            content = _at_root(content)
        kind = _KINDS.get(pathlib.PurePosixPath(name).suffix, "application/octet-stream")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind != "image/png" else kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        return content

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: standard error is for errors."""


def _at_root(page: bytes) -> bytes:
    r"""The page for wrong addresses, with links from the root of this server, because the page is sent at any depth.

    >>> _at_root(b"<head>\n<title>")
    b'<head>\n<base href="/"><title>'
    """
    plain = re.sub(rb'<base href="[^"]*">\n?', b"", page)
    plain = plain.replace(b"base-uri 'none'", b"base-uri 'self'", 1)
    place = max(plain.find(b"<meta name="), plain.find(b"<head>\n") + 7)
    return plain[:place] + b'<base href="/">' + plain[place:]


def _read(directory: pathlib.Path, name: str) -> bytes | None:
    """Read a file below the directory without following links; None if there is no such file."""
    path = directory
    for part in pathlib.PurePosixPath(name).parts:
        path = path / part
        if path.is_symlink():
            return None
    try:
        # A name may become a link, or a pipe that nobody writes to, after it was checked.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            return file.read() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:
        return None


class _Server(http.server.ThreadingHTTPServer):
    """A server that ignores browsers that disconnect during an answer or never send a request."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the error in one line, and continue."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"A request failed: {type(error).__name__}: {error}", file=sys.stderr)


def serve(directory: pathlib.Path, names: frozenset[str], ready: Callable[[str], None]) -> None:
    """Serve a site only to this machine, until Ctrl-C.

    Args:
        directory: a site that was written.
        names: the names of its files. Other files and links are not served.
        ready: a function that is called with the address when the server can answer requests.
    """
    handler = functools.partial(_Pages, directory=directory, names=names)
    with _server(handler) as server:
        ready(f"http://{ADDRESS}:{server.server_address[1]}/{_FRONT}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _server(handler: Any) -> _Server:
    try:
        return _Server((ADDRESS, PORT), handler)
    except OSError:
        return _Server((ADDRESS, 0), handler)
