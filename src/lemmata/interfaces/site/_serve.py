"""The site on the loopback address of this machine."""

import functools
import http
import http.server
import pathlib
import sys
from collections.abc import Callable
from typing import Any

ADDRESS = "127.0.0.1"
PORT = 8000
"""The port that is tried first; where it is taken, the system gives a free one."""


class _Pages(http.server.SimpleHTTPRequestHandler):
    """Files of one directory, without lists of its folders."""

    def list_directory(self, path: Any) -> None:
        self.send_error(http.HTTPStatus.NOT_FOUND)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: standard error is for what goes wrong."""


class _Server(http.server.ThreadingHTTPServer):
    """A server that takes no notice of a browser that hangs up in the middle of an answer."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def serve(directory: pathlib.Path, ready: Callable[[str], None]) -> None:
    """Serve a directory to this machine alone, until Ctrl-C.

    Args:
        directory: a site that was written.
        ready: called with the address once it answers.
    """
    handler = functools.partial(_Pages, directory=str(directory))
    with _server(handler) as server:
        ready(f"http://{ADDRESS}:{server.server_address[1]}/index.html")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def _server(handler: Any) -> _Server:
    try:
        return _Server((ADDRESS, PORT), handler)
    except OSError:
        return _Server((ADDRESS, 0), handler)
