"""Claims of third parties: whatever is amiss in a file is told in one line, with the file and the attribute."""

import dataclasses
import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import Status, advice_on, check_claim, find, verify
from lemmata.errors import ClaimError, LemmataError
from lemmata.interfaces.cli import app

FILE = '''
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from lemmata.engine.claims import AtMost, Choice, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space


class Draws(eqx.Module):
    """Draws."""

    x: Float[Array, "n"]


class Normal(Population[Draws]):
    """Normal draws."""

    settings = Space(n=Integer(5, 1, 100, "draws"))

    def sample(self, setting, key):
        return Draws(jax.random.normal(key, (5,)))

    def hypotheses(self, problem):
        return [Hypothesis("there are draws", problem.x.size, ">=", 1)]


class Mean(Claim[Draws]):
    """The mean is at most the largest entry."""

    title = "A mean"
    source = Source("k2020", "Theorem 1", entry="@article{k2020, author={A. B}, title={T}, year={2020}}")
    population = Normal()
    relation = AtMost()
    control = Control("less than that", lambda predicted, problem: predicted - 1.5)
    controls = "the mean"
    unexplained = "nothing"
    trivial = "none"
    trials = 64

    def predict(self, problem):
        return problem.x.max()

    def measure(self, problem, key):
        return problem.x.mean()
'''
SETTING, SAMPLE = 'Integer(5, 1, 100, "draws")', "return Draws(jax.random.normal(key, (5,)))"
PREDICTED, MEASURED, TRIALS = "return problem.x.max()", "return problem.x.mean()", "trials = 64"
CONTROL = "lambda predicted, problem: predicted - 1.5"
AMISS = [
    ("title={T}", "title={T", "source 'k2020'", "braces that are not balanced"),
    ("title={T}", "title={T}}", "source 'k2020'", "braces that are not balanced"),
    ("entry=\"@article{k2020", "entry=\"@article{other", "source 'k2020'", "entry with the key 'other'"),
    ('entry="@article{k2020, author={A. B}, title={T}, year={2020}}"', 'entry=""', "source 'k2020'", "no entry"),
    (', entry="@article{k2020, author={A. B}, title={T}, year={2020}}"', "", "source 'k2020'", "no entry with this"),
    ('Source("k2020"', "Source(None", "source (key)", "NoneType None"),
    ('"Theorem 1"', "7", "source (locators)", "(7,)"),
    ('source = Source(', 'source = dict(key=', "", ""),
    *((TRIALS, f"trials = {value}", "trials", "a whole number from 1")
      for value in ('"many"', 0, -1, 2.5, True, 'float("nan")', "10**12")),
    (SETTING, "Integer(5, 100, 1)", "setting n", "from 100 to 1"),
    (SETTING, 'Real(5.0, float("nan"), 9.0)', "setting n", "nan"),
    (SETTING, 'Real(float("nan"), 1.0, 9.0)', "setting n", "nan"),
    (SETTING, 'Real(5.0, 0.0, float("inf"))', "setting n", "finite numbers as default, ends and corners"),
    (SETTING, 'Real(5.0, float("-inf"), 9.0)', "setting n", "float -inf"),
    (SETTING, 'Integer(5, 1, float("inf"))', "setting n", "finite whole numbers as default, ends and corners"),
    (SETTING, 'Real(5.0, 0.0, 9.0, corners=(1.0, float("inf")))', "setting n", "float inf"),
    (SETTING, "Integer(500, 1, 100)", "setting n", "the default 500"),
    (SETTING, 'Integer("5", 1, 100)', "setting n", "str '5'"),
    (SETTING, "Integer(5, 1, 100, corners=(50, 2))", "setting n", "corners (50, 2)"),
    (SETTING, "Integer(5, 1, 100, corners=7)", "setting n", "corners int 7"),
    (SETTING, "Integer(5, 1, 100, step=0)", "setting n", "a step of int 0"),
    (SETTING, 'Choice("a", ("b", "c"))', "setting n", "the default 'a'"),
    (SETTING, 'Choice("a", ("a",), corners=("z",))', "setting n", "corners with 'z'"),
    (SETTING, "5", "setting n", "an Integer, a Real or a Choice"),
    ("Space(n=Integer(5, 1, 100, \"draws\"))", '{"n": 5}', "settings", "dict"),
    ("AtMost()", "AtMost", "relation", "write relation = AtMost()"),
    ("AtMost()", "AtMost(delta=2.0)", "relation (delta)", "from 0 below 1"),
    ("AtMost()", 'AtMost(delta="x")', "relation (delta)", "str 'x'"),
    ("AtMost()", 'AtMost(delta=float("nan"))', "relation (delta)", "NaN"),
    ("AtMost()", "AtMost(resolution=0)", "relation (resolution)", "above 0"),
    ("AtMost()", "AtMost(resolution=1e-9)", "relation", "at most 10,000,000 trials"),
    ("= Normal()", "= Normal", "population", "write population = Normal()"),
    ('    """The mean is at most the largest entry."""\n', "", "docstring", "no docstring"),
    ('"""The mean is at most the largest entry."""', '"""  """', "docstring", "no docstring"),
    ('"""The mean is at most the largest entry."""', '"""Mean(x=3)"""', "docstring", "no docstring"),  # of a dataclass
    ('title = "A mean"', "title = 5", "title", "int 5"),
    ('title = "A mean"', 'title = " "', "title", "no title"),
    ('controls = "the mean"', "controls = 5", "controls", "int 5"),
    ('unexplained = "nothing"', "unexplained = None", "unexplained", "None"),
    ('    title = "A mean"\n', "", "title", "no title"),
    (CONTROL, "3", "control (predict)", "int 3"),
    (CONTROL, "lambda predicted: predicted", "control (predict)", "(predicted)"),
    (CONTROL, "lambda predicted, problem: None", "control (predict)", "None"),
    ("def predict(self, problem)", "def predict(self)", "predict", "(self)"),
    ("def predict", "async def predict", "predict", "a coroutine"),
    ("def measure(self, problem, key)", "def measure(self, problem)", "measure", "(self, problem)"),
    ("    def measure", "    measure_at = lambda self, a, b, c: 1.0\n\n    def measure", "measure",
     "found both measure and measure_at; rule: exactly one"),
    (PREDICTED, 'return "five"', "predict", "str 'five'"),
    (PREDICTED, "yield problem.x.max()", "predict", "a generator"),
    (MEASURED, "return None", "measure", "None"),
    (MEASURED, "return [[1.0], [1.0, 2.0]]", "measure", "lists of different lengths"),
    (MEASURED, "return problem.x.mean() * 1j", "measure", "complex numbers"),
    (MEASURED, "return np.array([object()])", "measure", "an array of object"),
    (MEASURED, "return {}", "measure", "dict {}"),
    (SAMPLE, "return None", "population Normal, sample", "None"),
    (SAMPLE, "return 5", "population Normal, sample", "int 5"),
    ('return [Hypothesis("there are draws", problem.x.size, ">=", 1)]', "return None", "Normal, hypotheses", "None"),
    ('return [Hypothesis("there are draws", problem.x.size, ">=", 1)]', "return [1]", "Normal, hypotheses", "int 1"),
    (TRIALS, 'expected = "refuted"', "expected", "Status.REFUTED"),
    (TRIALS, 'traced = "no"', "traced", "True or False"),
    (TRIALS, "hypotheses = 3", "hypotheses", "int 3"),
]  # fmt: skip
TOLD_OF_THE_FILE = [
    (FILE + "\ndef (", "SyntaxError"), ("", "at least one class"), ("x = 1", "at least one class"),
    ("\0", "null bytes"), ("import nothing_here", "install nothing_here"),
    ("raise ValueError('a\\nb')", "ValueError: a b"),
    (FILE + FILE[FILE.index("class Mean") :], "two classes with the name Mean"),
    (FILE + "\nimport sys\nsys.exit(0)", "SystemExit"), (FILE + "\n    control = 1 / 0", "ZeroDivisionError"),
]  # fmt: skip


def written(tmp_path, text, name="mine"):
    path = tmp_path / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path


PROGRAM = """
import json, sys
import jax
jax.config.update("jax_enable_x64", True)
from lemmata.engine.claims import find, verify
from lemmata.errors import ClaimError
told = {}
for path in sys.argv[1:]:
    try:
        (claim,) = find(path)
        told[path] = str(verify(claim, budget=4, corners=0, progress=False).status)
    except ClaimError as error:
        told[path] = str(error)
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What Python says of each file: outside of the tests, where no checker of types comes first."""
    folder, files = tmp_path_factory.mktemp("claims"), {}
    for place, (old, new, *_) in enumerate(AMISS):
        assert FILE.count(old) == 1
        for traced in (True, False):
            text = FILE.replace(old, new) + "\n    traced = False\n" * (not traced and "traced" not in new)
            files[place, traced] = folder / f"mine{place}{traced}.py"
            files[place, traced].write_text(text, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *map(str, files.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    return {key: (path, said[str(path)]) for key, path in files.items()}


@pytest.mark.parametrize("place", range(len(AMISS)), ids=[f"{new}"[:40] for _, new, *_ in AMISS])
@pytest.mark.parametrize("traced", [True, False])
def test_what_is_amiss_is_told_with_the_file_and_the_attribute(told, place, traced):
    _, _, attribute, found = AMISS[place]
    path, said = told[place, traced]
    assert str(path) in said
    assert attribute in said
    assert found in said
    assert "\n" not in said


@pytest.mark.parametrize(("text", "words"), TOLD_OF_THE_FILE)
def test_files_without_claims_are_told(tmp_path, text, words):
    path = written(tmp_path, text)
    with pytest.raises(LemmataError) as error:
        find(str(path))
    assert words in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("command", [("verify",), ("refute", "--minutes", "0.01")])
def test_every_command_ends_with_2(tmp_path, command):
    for old, new, attribute in (AMISS[0][:3], (TRIALS, "trials = 0", "trials"), (MEASURED, "return None", "measure")):
        path = written(tmp_path, FILE.replace(old, new), attribute.split()[0])
        done = CliRunner().invoke(app, [*command, str(path)], env={"LEMMATA_DATA_DIR": str(tmp_path)})
        assert done.exit_code == 2, done.output
        assert isinstance(done.exception, SystemExit)
        assert attribute in done.stderr
        assert path.name in "".join(done.stderr.split())


def test_what_keeps_every_rule_is_accepted(tmp_path):
    (claim,) = find(str(written(tmp_path, FILE)))
    assert verify(claim, progress=False).status is Status.SUPPORTED
    (spoilt,) = find(str(written(tmp_path, FILE, "other")))
    type(spoilt).trials = 0
    with pytest.raises(ClaimError, match=r"other\.py, trials; found int 0"):
        check_claim(spoilt)


@pytest.mark.parametrize(
    ("reason", "words", "raises"),
    [
        ("but the control is not refuted by 40 trials, so these trials have no power", "Change the control more", None),
        ("0 violations in 40 trials; 73 trials could settle it", "Raise the budget to 73 trials", True),
        ("but the control is not refuted by 40 trials, so these trials have no power", "Raise the budget until", True),
        ("0 violations in 40 trials; 40 trials could settle it", "another seed", False),
        ("0 violations; 99000000 trials could settle it", "that are allowed", False),
        ("one case, drawn 40 times: 0 violations; 73 trials could settle it", "Sample problems that differ", False),
        ("but the control is not refuted in component 2 of 3, a component that the control does not change, so these "
         "trials have no power", "Change the control", False),
        ("the slopes bend", "Sample more informative problems", False),
    ],
)  # fmt: skip
def test_a_larger_budget_is_advised_only_where_it_helps(tmp_path, reason, words, raises):
    (claim,) = find(str(written(tmp_path, FILE)))
    verdict = verify(claim, budget=4, corners=0, progress=False)
    told = dataclasses.replace(verdict, status=Status.INCONCLUSIVE, reason=reason, requested=40)
    status = Status.SUPPORTED if raises is None else Status.INCONCLUSIVE
    told = dataclasses.replace(told, control=dataclasses.replace(told.control, status=status))
    assert words in advice_on(told)
    assert ("Raise the budget" in advice_on(told)) is bool(raises)
    assert told.to_json()["remedy"] == advice_on(told)
