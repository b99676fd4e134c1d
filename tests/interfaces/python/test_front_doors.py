"""What `import lemmata` offers, and how results show themselves in a notebook."""

import ast
import inspect
import pathlib
import subprocess
import sys

import pytest

import lemmata
from lemmata.errors import SettingError
from lemmata.printable import preformatted
from lemmata.subjects.scaling import fit_scaling_law
from lemmata.version import __version__

SUBJECTS = pathlib.Path(lemmata.__file__).parent / "subjects"


def test_dir_shows_the_front_doors_and_each_of_them_is_there():
    shown = dir(lemmata)
    assert {"study", "study_model", "compare", "show_versions", "kernels", "architectures", "__version__"} <= set(shown)
    assert not [name for name in shown if name.startswith("_") and name != "__version__"]
    for name in shown:
        assert getattr(lemmata, name) is not None


def test_importing_lemmata_imports_nothing_large():
    program = "import lemmata, sys; print({'jax', 'numpy', 'sklearn', 'altair'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_versions_of_lemmata_python_and_the_dependencies_are_printed(capsys):
    lemmata.show_versions()
    found = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert found["lemmata"] == __version__
    assert found["python"] == sys.version.split()[0]
    for name in ("jax", "numpy", "scikit-learn", "equinox"):
        assert found[name][0].isdigit()


def test_every_result_of_a_subject_that_prints_as_text_shows_itself_in_a_notebook():
    classes = [
        (path.name, node)
        for path in sorted(SUBJECTS.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    ]
    methods = {(file, node.name): {part.name for part in node.body if hasattr(part, "name")} for file, node in classes}
    printing = [name for name, own in methods.items() if "__str__" in own]
    assert len(printing) >= 15
    assert [name for name in printing if "_repr_html_" not in methods[name]] == []


def test_a_result_in_a_notebook_is_its_text_escaped_without_a_script_or_a_colour():
    law = fit_scaling_law([1e6, 3e6, 1e7, 3e7, 1e8, 3e8], [5.3, 4.2, 3.4, 2.8, 2.4, 2.2])
    shown = law._repr_html_()
    assert "loss = " in shown
    assert "<script" not in shown
    assert "#" not in shown.partition(">")[0], "the page's own colours, light or dark"
    assert preformatted("<script>x</script>\u202e").count("<") == 2
    assert "\u202e" not in preformatted("\u202e")


def test_the_record_of_a_study_shows_what_it_has():
    found = lemmata.study("iris", models=["linear"], quick=True)
    shown = found.record._repr_html_()
    assert "The record of a study" in shown
    assert "models" in shown
    assert "<script" not in found._repr_html_()


@pytest.mark.parametrize(
    ("door", "given", "rule"),
    [
        (lemmata.study, {"max_rows": float("nan")}, "a whole number"),
        (lemmata.study, {"max_rows": 2.5}, "a whole number"),
        (lemmata.study, {"quick": "no"}, "True or False"),
        (lemmata.study, {"claims": 1}, "True or False"),
        (lemmata.study, {"seed": "x"}, "a whole number"),
        (lemmata.study, {"seed": True}, "a whole number"),
        (lemmata.study, {"time_limit": "x"}, "a number"),
        (lemmata.study, {"cost": "x"}, "a number"),
        (lemmata.study, {"keep": 3}, "a text, or a list of texts"),
        (lemmata.study, {"drop_column": [3]}, "a text, or a list of texts"),
        (lemmata.study, {"na": 3}, "a text, or a list of texts"),
        (lemmata.study, {"executor": 3}, "concurrent.futures.Executor"),
        (lemmata.compare, {"repeats": "2"}, "a whole number"),
        (lemmata.compare, {"test": "x"}, "a number"),
        (lemmata.compare, {"finite": "yes"}, "True or False"),
        (lemmata.compare, {"max_rows": 60.5}, "a whole number"),
        (lemmata.compare, {"executor": 3}, "concurrent.futures.Executor"),
    ],
)
def test_an_option_of_another_type_is_refused_before_anything_is_read(door, given, rule):
    with pytest.raises(SettingError, match=rule) as refused:
        inspect.unwrap(door)("nosuch.csv", **given)  # as users call it, without the tests' own checks of types
    assert next(iter(given)) in str(refused.value)
