"""A record is read, and its page made, without what computed it or altair: each kind in a process of its own."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lemmata.interfaces.cli import app
from tests.interfaces.report import example, test_families, test_model_page

COMPUTING = ("jax", "jaxlib", "sklearn", "scipy", "pandas", "equinox", "altair")
PROGRAM = f"""
import sys
from lemmata.interfaces.cli import main
try:
    main()
finally:
    print([name for name in {COMPUTING} if name in sys.modules], file=sys.stderr)
"""
RECORDS = {
    "study": [example.measured],
    "two studies": [example.measured, example.classified],
    "comparison": [test_families.example],
    "model": [test_model_page.example],
    "two models": [test_model_page.example, test_model_page.example],
}


def started(*arguments):
    return subprocess.run([sys.executable, "-c", PROGRAM, *map(str, arguments)], capture_output=True, text=True)


@pytest.mark.parametrize("case", RECORDS)
def test_report_loads_nothing_that_computes(case, tmp_path):
    files = [tmp_path / f"{place}.json" for place in range(len(RECORDS[case]))]
    for path, record in zip(files, RECORDS[case], strict=True):
        path.write_text(record().to_json())
    result = started("report", *files, "--out", tmp_path / "page")
    assert result.returncode == 0, result.stderr
    assert result.stderr == "[]\n"
    assert (tmp_path / "page" / "index.html").stat().st_size > 1000


def test_two_comparisons_are_refused_before_anything_is_written(tmp_path):
    (tmp_path / "compare.json").write_text(test_families.example().to_json())
    directory = tmp_path / "page"
    result = CliRunner().invoke(app, ["report", *[str(tmp_path / "compare.json")] * 2, "--out", str(directory)])
    assert result.exit_code == 2
    assert "two comparisons" in result.stderr
    assert not directory.exists()
