"""The law of releases: what is said of the package in several files is the same in all."""

import importlib.metadata
import pathlib
import re
import tomllib

import lemmata

ROOT = pathlib.Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_recipe_of_conda_asks_for_what_the_package_asks_for():
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    run = re.findall(r"^    - ([\w-]+ >=[\d.]+)$", recipe.partition("  run:")[2].partition("\ntest:")[0], re.M)
    asked = [line.replace(">=", " >=") for line in PROJECT["dependencies"]]
    assert run == [f"python {PROJECT['requires-python']}", *asked]
    entry = PROJECT["scripts"]["lemmata"]
    assert f"- lemmata = {entry}\n" in recipe


def test_the_version_is_the_same_everywhere():
    version = PROJECT["version"]
    assert version == lemmata.__version__ == importlib.metadata.version("lemmata")
    assert f'set version = "{version}"' in (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_no_version_has_an_upper_bound():
    """None is known to break; the first that does gets its bound here, with the reason."""
    extras = [own for some in PROJECT["optional-dependencies"].values() for own in some]
    assert not [own for own in [*PROJECT["dependencies"], *extras] if "<" in own or "==" in own]
