"""The law of releases: what is said of the package in several files is the same in all."""

import importlib.metadata
import importlib.util
import io
import pathlib
import re
import tarfile
import tomllib
import zipfile

import pytest

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


def test_the_recipe_of_conda_finds_the_licence_where_the_sources_are_unpacked():
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
    folders = re.findall(r"^    folder: (.+)$", recipe, re.M)
    folder, _, file = re.search(r"^  license_file: (.+)$", recipe, re.M)[1].rpartition("/")
    assert folder in folders
    assert file in PROJECT["license-files"]
    assert f"  home: https://pypi.org/project/{PROJECT['name']}/\n" in recipe.partition("\nabout:")[2]
    assert "\nextra:\n  recipe-maintainers:" in recipe


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


def release():
    spec = importlib.util.spec_from_file_location("release", ROOT / "packaging" / "release.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


RELEASE = release()


def wheel_of(part):
    """The bytes of a wheel, with the list of files and digests that it has."""
    text, listed = io.BytesIO(), []
    with zipfile.ZipFile(text, "w", zipfile.ZIP_DEFLATED) as file:
        for place, path in RELEASE.parts()[part].items():
            file.write(path, f"lemmata/{place}")
            listed.append(f"lemmata/{place},sha256={hash(place):020d}{hash(path):020d}abc,{path.stat().st_size}")
        file.writestr(f"{part}-{PROJECT['version']}.dist-info/RECORD", "\n".join(listed))
    return len(text.getvalue())


def sdist_of(part):
    text = io.BytesIO()
    with tarfile.open(fileobj=text, mode="w:gz") as file:
        for place, path in RELEASE.parts()[part].items():
            file.add(path, f"lemmata-0.1.0/src/lemmata/{place}")
    return len(text.getvalue())


@pytest.mark.parametrize("part", [RELEASE.CODE, RELEASE.CLAIMS, RELEASE.DATA])
def test_no_file_of_a_release_is_as_large_as_its_limit(part):
    assert RELEASE.LIMIT == 3_000_000
    assert 500_000 < wheel_of(part) < RELEASE.LIMIT
    assert 500_000 < sdist_of(part) < RELEASE.LIMIT


def test_every_file_is_in_one_distribution_and_the_first_asks_for_the_others():
    parts = RELEASE.parts()
    places = [place for files in parts.values() for place in files]
    assert len(places) == len(set(places))
    assert {"py.typed", "subjects/tangent/__init__.py", "subjects/trained_models/_shift.py"} <= parts["lemmata"].keys()
    assert "subjects/tangent/finite_width.py" in parts["lemmata-claims"]
    assert {"docs/design.md", "docs/tables.py", "subjects/history.json"} <= parts["lemmata-data"].keys()
    told = tomllib.loads(RELEASE.project_of("lemmata"))
    others = [f"{name}=={PROJECT['version']}" for name in ("lemmata-claims", "lemmata-data")]
    assert told["project"]["dependencies"] == [*others, *PROJECT["dependencies"]]
    for name in ("lemmata-claims", "lemmata-data"):
        own = tomllib.loads(RELEASE.project_of(name))["project"]
        assert (own["name"], own["version"]) == (name, PROJECT["version"])
        assert own["requires-python"] == PROJECT["requires-python"]
