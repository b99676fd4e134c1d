"""Provide Vega as a script that pages include, and as a converter to SVG, which needs a large address space."""

import contextlib
import functools
import json
import lzma
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from markupsafe import Markup

VEGA = Path(__file__).parent / "templates" / "vega.js.xz"
"""Vega, Vega-Lite and Vega-Embed in one script, as `docs/vega.py` writes it."""
_CONVERTER = """
import sys, vl_convert
wanted, known = sys.argv[1], vl_convert.get_vegalite_versions()
print(vl_convert.vegalite_to_svg(sys.stdin.read(), vl_version=wanted if wanted in known else known[-1]))
"""
VEGA_LITE = "6.4"
"""The version of Vega-Lite in which charts are written."""
_EMPTY = {"data": {"values": []}, "mark": "point"}
_PATIENCE = 120.0  # seconds for one picture


@functools.cache
def bundle() -> Markup:
    """Vega's script, escaped so that it cannot close its own HTML element."""
    return Markup(lzma.decompress(VEGA.read_bytes()).decode())


def svg_text(spec: dict[str, Any]) -> str | None:
    """A Vega-Lite specification as SVG; None if the system gives the converter too little address space.

    The converter reserves more than 40 GB of address space, and ends its process if the system refuses. If the address
    space is limited, for example by `ulimit -v`, the converter runs in its own process. If that process ends early,
    only this picture is missing.

    Args:
        spec: the specification.
    """
    if not _is_limited():
        import vl_convert

        return vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=_vega_lite())
    return _drawn_apart(json.dumps(spec)) if _draws_apart() else None


def start_converter() -> None:
    """Start the converter on a thread, so that the first picture does not wait for this.

    The start takes some 0.4 s. The thread uses another core while a command imports its modules.
    """
    if not _is_limited():
        threading.Thread(target=_draw_nothing, name="vega").start()


def _draw_nothing() -> None:
    with contextlib.suppress(ImportError, ValueError):  # the first picture will tell the user
        svg_text(_EMPTY)


def _drawn_apart(spec: str) -> str | None:
    command = [sys.executable, "-I", "-c", _CONVERTER, VEGA_LITE]
    try:
        done = subprocess.run(command, input=spec.encode(), capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired, MemoryError):
        return None
    return None if done.returncode else done.stdout.decode().rstrip("\n")


@functools.cache
def _draws_apart() -> bool:
    return _drawn_apart(json.dumps(_EMPTY)) is not None


def _is_limited() -> bool:
    """Whether the address space of the process is limited."""
    try:
        import resource
    except ImportError:  # Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


@functools.cache
def _vega_lite() -> str:
    """The version of Vega-Lite in which charts are written or, if the converter lacks it, its newest version."""
    import vl_convert

    known = vl_convert.get_vegalite_versions()
    return VEGA_LITE if VEGA_LITE in known else known[-1]
