"""The site on this machine: its own files by their names, whatever is asked for, and not a word about it."""

import functools
import os
import socket
import threading

import pytest

from lemmata.interfaces.site import _pages, _serve

NAMES = frozenset({"index.html", "docs/a b.html", "claims/0001.html", "gone.html", "linked.html", "folder/in.html",
                   "pipe", "site.css"})  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with files of a site, and others that its manifest names and that are no files of it."""
    folder = tmp_path_factory.mktemp("served") / "site"
    outside = folder.parent / "outside"
    for name in ("index.html", "docs/a b.html", "claims/0001.html", "site.css", "notes.txt", "lemmata-site.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"text of {name}")
    outside.mkdir()
    (outside / "in.html").write_text("outside")
    (folder / "linked.html").symlink_to(outside / "in.html")
    (folder / "folder").symlink_to(outside)
    os.mkfifo(folder / "pipe")
    return folder


@pytest.fixture(scope="module")
def ask(site):
    """Sends bytes to the server and gives all that it answers."""
    with _serve._Server((_serve.ADDRESS, 0), functools.partial(_serve._Pages, directory=site, names=NAMES)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()

        def asked(request: bytes) -> bytes:
            with socket.create_connection(server.server_address, timeout=60) as connection:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                return b"".join(iter(functools.partial(connection.recv, 65536), b""))

        yield asked
        server.shutdown()
        thread.join()


def request(path="/index.html", host="127.0.0.1:8000", method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()


def status(answer):
    return int(answer.split()[1])


@pytest.mark.parametrize(
    ("path", "name"),
    [("/", "index.html"), ("/index.html", "index.html"), ("/docs/a%20b.html", "docs/a b.html"),
     ("/claims/0001.html?q=1", "claims/0001.html")],
)  # fmt: skip
def test_files_of_the_site_are_served(ask, path, name):
    answer = ask(request(path))
    assert status(answer) == 200
    head, _, body = answer.partition(b"\r\n\r\n")
    assert body == f"text of {name}".encode()
    assert b"text/html; charset=utf-8" in head
    assert b"nosniff" in head
    assert ask(request(path, method="HEAD")).partition(b"\r\n\r\n")[2] == b""


@pytest.mark.parametrize(
    "path",
    ["/notes.txt", "/lemmata-site.json", "/claims/", "/claims", "/../outside/in.html", "/%2e%2e/outside/in.html",
     "/linked.html", "/folder/in.html", "/pipe", "/gone.html", "/index.html%00", "/%00", "/%ff%fe",
     "/docs/../index.html", "/./index.html", "/" + "a" * 60_000, "/" + "%2f" * 9000, "http://elsewhere/index.html",
     "/etc/passwd", "/..%5c..%5cindex.html", "*"],
    ids=lambda path: path[:30],
)  # fmt: skip
def test_nothing_else_is_served(ask, path, capfd):
    answer = ask(request(path))
    assert status(answer) == 404, answer[:200]
    assert b"outside" not in answer.partition(b"\r\n\r\n")[2].replace(b"/outside/", b"")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1", "127.0.0.1:9"])
def test_the_name_of_this_machine_is_answered(ask, host):
    assert status(ask(request(host=host))) == 200


@pytest.mark.parametrize(
    "host", ["localhost\r\nHost: elsewhere.invalid", "elsewhere.invalid\r\nHost: localhost",
             "elsewhere.invalid", "elsewhere.invalid:8000", "", "127.0.0.1.elsewhere.invalid", "localhost@elsewhere:80",
             "127.0.0.1:x", "0.0.0.0:8000", "127.0.0.1 ,elsewhere"]
)  # fmt: skip
def test_a_name_that_another_site_made_lead_here_is_not(ask, host):
    answer = ask(request(host=host))
    assert status(answer) == 421
    assert b"text of" not in answer


@pytest.mark.parametrize(
    "sent",
    [b"", b"\r\n\r\n", b"\0\xff\xfe\r\n\r\n", b"GET\r\n\r\n", b"GET /index.html\r\n", b"GET / HTTP/9.9\r\n\r\n",
     b"GET / HTTP/1.1\r\nHost: " + b"a" * 70_000 + b"\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n",
     b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
     b"POST /index.html HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc", request(method="PUT"),
     request(method="DELETE"), request(method="G" * 300), b"GET / HTTP/1.1\r\n\r\n"],
    ids=lambda sent: repr(sent[:24]),
)  # fmt: skip
def test_a_request_that_is_none_is_refused_without_a_word(ask, sent, capfd):
    answer = ask(sent)
    assert b"text of" not in answer
    assert b"200 OK" not in answer
    assert capfd.readouterr() == ("", "")
    assert status(ask(request())) == 200, "the server goes on"


def test_only_this_machine_is_served():
    with _serve._server(_serve._Pages) as server:
        assert server.server_address[0] == "127.0.0.1"


def test_a_wrong_address_is_answered_with_the_page_of_the_site(site, ask, monkeypatch):
    page = _pages.page("missing.html", "404.html", "", "There is no such page", base="https://example.org/x")
    plain = ask(request("/claims/none.html"))
    assert (status(plain), b"There is no such page" in plain) == (404, False), "this site has no such file"
    monkeypatch.setattr(_serve, "_MISSING", "linked.html")
    assert b"outside" not in ask(request("/claims/none.html"))
    monkeypatch.setattr(_serve, "_MISSING", "site.css")
    before = (site / "site.css").read_text()
    (site / "site.css").write_text(page)
    for method, whole in (("GET", True), ("HEAD", False)):
        answer = ask(request("/claims/none.html", method=method))
        assert (status(answer), b"There is no such page" in answer) == (404, whole)
        assert answer.count(b'<base href="/">') == whole
    (site / "site.css").write_text(before)


@pytest.mark.parametrize("base", ["", "https://example.org/x"])
def test_the_page_for_wrong_addresses_works_at_every_depth(base):
    page = _serve._at_root(_pages.page("missing.html", "404.html", "", "There is no such page", base=base).encode())
    assert page.count(b"<base ") == 1
    assert b'<base href="/">' in page
    assert page.index(b"<base ") < page.index(b'href="site.css')
    assert b"base-uri 'self'" in page
