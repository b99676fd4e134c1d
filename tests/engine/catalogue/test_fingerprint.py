"""A fingerprint changes with what code means, and with nothing else."""

import gc
import sys

import jax
import pytest

from lemmata.engine.catalogue import _fingerprint as prints
from lemmata.engine.catalogue import _meaning as meanings
from lemmata.engine.catalogue import _modules as files
from lemmata.engine.claims import find, registry
from lemmata.engine.claims._trials import run_trials

SECTION = '''
"""A section."""

import jax.numpy as jnp

from lemmata.claims import Claim, Control, Hypothesis
from lemmata.shared import Kernel, Wide, smooth
from lemmata.errors import SettingError

MARGIN = 0.5


def _scaled(x, power=2, *, factor):
    """Twice."""
    if factor < 0:
        raise SettingError("factor", found=factor, rule="at least 0")
    half = [value / 2 for value in x]
    other = lambda z: z * power
    return other(half[0]) - smooth(half[1])


class Bound(Claim):
    """It holds."""

    title = "A bound"
    relation = MARGIN
    control = Control("twice as much", lambda v, p: 2 * v, loose="no nearer one")

    def predict(self, problem):
        kernel = Kernel(3)
        return kernel.value(problem.x) if problem.law == "two scales" else _scaled(problem.x, factor=1)

    def hypotheses(self, problem):
        return [Hypothesis("x is large", problem.x, ">", 1.0, "else nothing is said")]
'''
SHARED = """
import functools


def smooth(value):
    return value + 1


@smooth.defjvp
def _slope(primals, tangents):
    return tangents[0] * 5


def rough(value):
    return value + 2


class Kernel:
    degree: int = 2

    def value(self, x):
        return self._power(x)

    def _power(self, x):
        return x**self.degree

    def gradient(self, x):
        return 2 * x


class Wide(Kernel):
    def value(self, x):
        return 2 * x


@functools.singledispatch
def order(kernel):
    return 0


@order.register
def _wide(kernel: Wide):
    return 1
"""
CLAIMS = """
class Claim:
    pass


class Control:
    pass


class Hypothesis:
    pass
"""
ERRORS = """
class SettingError(Exception):
    def __init__(self, what, found=None, rule=None):
        super().__init__(f"{what}: {found} {rule}")
"""

INTERRUPTION = """
def heed():
    if PENDING:
        raise KeyboardInterrupt
"""


@pytest.fixture
def digests(tmp_path, monkeypatch):
    """Digests of `Bound` in a package of five files of which some text was replaced."""
    caches = (files.module_of, files.methods_of, meanings.meaning, meanings._speaks, meanings._is_error,
              prints._brief, prints._reached, prints._is_called_elsewhere, prints._registrations)  # fmt: skip

    def cleared():
        for cache in caches:
            cache.cache_clear()

    def found(*changes: tuple[str, str]) -> prints.Fingerprint:
        texts = {"section": SECTION, "shared": SHARED, "claims": CLAIMS, "errors": ERRORS, "interruption": INTERRUPTION}
        for old, new in changes:
            assert any(old in text for text in texts.values()), old
            texts = {name: text.replace(old, new) for name, text in texts.items()}
        for name, text in texts.items():
            (tmp_path / f"{name}.py").write_text(text)
        cleared()
        return prints.fingerprint([("lemmata.section", "Bound")], ["lemmata.section"], ["predict", "hypotheses"])

    monkeypatch.setitem(files.ROOTS, "lemmata", tmp_path)
    yield found
    monkeypatch.undo()
    cleared()


SAME = {
    "a comment": [("MARGIN = 0.5", "MARGIN = 0.5  # half")],
    "layout": [("return value + 1", "return (\n        value\n        + 1\n    )")],
    "a docstring": [('"""Twice."""', '"""Thrice."""'), ('"""It holds."""', '"""It may hold."""')],
    "annotations": [("def smooth(value):", "def smooth(value: float) -> float:")],
    "what type checkers alone read": [
        ("    degree: int = 2", "    if TYPE_CHECKING:\n        degree: float\n    else:\n        degree: int = 2"),
    ],
    "an error's words": [('rule="at least 0"', 'rule="not below 0"'), ("{what}: {found}", "{what} was {found}")],
    "an error's class": [("super().__init__", "self.what = what\n        super().__init__")],
    "titles and controls in words": [('"A bound"', '"Bound"'), ("twice as much", "double"), ("no nearer", "no near")],
    "a hypothesis in words": [("x is large", "x is above 1"), ("else nothing is said", "else it says nothing")],
    "a look for a request to stop": [
        ("    half = [value", "    heed()\n    half = [value"),
        ("MARGIN = 0.5", "from lemmata.interruption import heed\n\nMARGIN = 0.5"),
    ],
    "locals": [("half", "halves"), ("value / 2 for value in", "v / 2 for v in"), ("kernel", "k")],
    "parameters": [("def smooth(value):\n    return value", "def smooth(number):\n    return number")],
    "a function's name": [("_scaled", "_halved"), ("smooth", "softened")],
    "a class's name": [("Kernel", "Kernels")],
    "a constant's name": [("MARGIN", "_MARGIN")],
    "a method nobody asks for": [("return 2 * x\n\n\nclass Wide", "return 3 * x\n\n\nclass Wide")],
    "what nothing names": [("value + 2", "value + 3"), ("return 1\n", "return 2\n")],
    "a subclass that does not occur": [("(self, x):\n        return 2 * x", "(self, x):\n        return 4")],
    "how a name is imported": [("import jax.numpy as jnp", "from jax import numpy as jnp")],
}  # fmt: skip
OTHER = {
    "a constant": [("MARGIN = 0.5", "MARGIN = 0.6")],
    "a default": [("power=2", "power=3")],
    "a call of another function named heed": [
        ("    half = [value", "    heed()\n    half = [value"),
        ("MARGIN = 0.5", "def heed():\n    pass\n\n\nMARGIN = 0.5"),
    ],
    "an operand": [("value + 1", "value + 2")],
    "another function": [("- smooth(", "- rough("), ("import Kernel, Wide, smooth", "import Kernel, rough")],
    "a method below": [("x**self.degree", "x**self.degree + 1")],
    "a field's default": [("degree: int = 2", "degree: int = 3")],
    "a default that type checkers do not read": [
        ("    degree: int = 2", "    if TYPE_CHECKING:\n        degree: int = 2\n    else:\n        degree: int = 3"),
    ],
    "a condition that raises": [("factor < 0", "factor < 1")],
    "which error": [("raise SettingError", "raise ValueError")],
    "a hypothesis's threshold": [('">", 1.0', '">", 2.0')],
    "the control's prediction": [("2 * v", "3 * v")],
    "a word that is compared": [('"two scales"', '"one scale"')],
    "an operation of another package": [("_scaled(problem.x,", "_scaled(jnp.abs(problem.x),")],
    "locals that change places": [("half[0]) - smooth(half[1])", "half[1]) - smooth(half[0])")],
    "constants of one statement that change places": [
        ("MARGIN = 0.5", "OTHER, MARGIN = 0.5, 0.1"),
        ("relation = MARGIN", "relation = OTHER"),
    ],
    "methods that change places": [("def value", "def old"), ("def _power", "def value"), ("def old", "def _power")],
}


@pytest.mark.parametrize("name", SAME)
def test_what_does_not_count(digests, name):
    assert digests(*SAME[name]).whole == digests().whole


@pytest.mark.parametrize("name", OTHER)
def test_what_counts(digests, name):
    assert digests(*OTHER[name]).whole != digests().whole


def test_a_definition_may_move_to_another_file(digests):
    smooth = "def smooth(value):\n    return value + 1\n"
    smooth += "\n\n@smooth.defjvp\ndef _slope(primals, tangents):\n    return tangents[0] * 5\n"
    moved = digests(
        (smooth, ""), ("Kernel, Wide, smooth", "Kernel, Wide"), ("MARGIN = 0.5\n", f"MARGIN = 0.5\n\n\n{smooth}")
    )
    assert moved.whole == digests().whole
    assert moved.own != digests().own


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A, B = 0.5, 0.1\nMARGIN = A + 2 * B", "A, B = 0.5, 0.1\nMARGIN = B + 2 * A"),
        ("A, B = 0.5, 0.1\nMARGIN = A + 2 * B", "B, A = 0.5, 0.1\nMARGIN = A + 2 * B"),
        ("F = lambda: smooth(1)\nG = lambda: rough(1)\nMARGIN = F() + 2 * G()",
         "F = lambda: smooth(1)\nG = lambda: rough(1)\nMARGIN = G() + 2 * F()"),
        ("MARGIN = 'a b'.split()", "MARGIN = 'a c'.split()"),
        ("MARGIN = smooth('one')", "MARGIN = smooth('two')"),
        ("MARGIN = smooth('i j -> i')", "MARGIN = smooth('i j -> j')"),
        *((f"A = 1\nMARGIN = {inner}, A", f"A = 2\nMARGIN = {inner}, A")
          for inner in ("[A for A in (3, 4)]", "{A: A for A in (3, 4)}", "lambda A: 2 * A", "max(A for A in (3, 4))")),
    ],
)  # fmt: skip
def test_what_differs_in_what_it_names_alone_is_told_apart(digests, before, after):
    names = ("Kernel, Wide, smooth", "Kernel, Wide, rough, smooth")
    assert digests(names, ("MARGIN = 0.5", before)).whole != digests(names, ("MARGIN = 0.5", after)).whole


def test_which_builtin_errors_an_error_is_does_not_count(digests):
    handled = (
        ("half = [", "try:\n        smooth(x)\n    except SettingError:\n        return 0\n    half = ["),
        ("class SettingError(Exception):", "class Refusal(Exception):"),
        ('rule}")\n', 'rule}")\n\n\nclass SettingError(Refusal):\n    pass\n'),
    )
    before = digests(*handled).whole
    assert digests(*handled, ("(Refusal)", "(Refusal, ValueError)")).whole == before
    assert digests(*handled, ("(Refusal)", "(Exception)")).whole != before


def test_own_code_and_shared_code_are_told_apart(digests):
    before, own, shared = digests(), digests(("power=2", "power=3")), digests(("value + 1", "value + 4"))
    assert (own.own, own.shared) != (before.own, before.shared)
    assert own.shared == before.shared
    assert shared.own == before.own
    assert {name for name in before.shared if shared.shared[name] != before.shared[name]} == {"shared"}


def test_a_registered_function_counts_with_its_type(digests):
    asked = ("return kernel.value", "order(kernel)\n        return kernel.value")
    uses = (("kernel = Kernel(3)", "kernel = Wide(3)"), asked)
    imports = (("import Kernel, Wide, smooth", "import Kernel, Wide, order, smooth"),)
    before = digests(*uses, *imports).whole
    assert digests(*uses, *imports, ("return 1\n", "return 2\n")).whole != before
    unused = (asked, *imports)
    assert digests(*unused, ("return 1\n", "return 2\n")).whole == digests(*unused).whole


def test_a_derivative_counts_with_its_function(digests):
    before = digests().whole
    assert digests(("* 5", "* 6")).whole != before
    unused = ("- smooth(half[1])", "- half[1]")
    assert digests(unused, ("* 5", "* 6")).whole == digests(unused).whole


READER = ("lemmata.core._reading", "lemmata.core._places")
CHEAP = [name for name, claim in registry().items() if claim.traced]


@pytest.mark.parametrize("name", CHEAP)
def test_what_trials_execute_is_reached(name):
    """Each function of lemmata that two trials of a claim call is among what the fingerprint of its trials reads."""
    (claim,) = find(name)
    called = set()

    def listen(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(files.ROOT)):
            called.add((frame.f_code.co_filename, frame.f_code.co_qualname.split(".<locals>")[0]))

    setting = claim.population.settings().default
    jax.clear_caches()
    gc.collect()  # a generator of another test that is closed while we listen would be heard
    sys.setprofile(listen)
    try:
        trials = run_trials(claim, setting, 2, 0)
    finally:
        sys.setprofile(None)
    assert not trials.errors
    from lemmata.engine.catalogue._states import ASKED, ENGINE

    reached = prints.reached([files.Node(type(claim).__module__, type(claim).__name__), files.Node(*ENGINE[0])], ASKED)
    missed = set()
    for file, qualified in called:
        module = ".".join(("lemmata", *file.removeprefix(f"{files.ROOT}/").removesuffix(".py").split("/")))
        own, _, method = qualified.partition(".")
        node = files.Node(module.removesuffix(".__init__"), own)
        node = files.Node(*node[:2], method) if method in files.methods_of(node) else node
        # The reader of arguments passes arrays of JAX on as they are: it is part of no computation.
        if not own.startswith("<") and node.module not in READER and node not in reached:
            missed.add(node)
    assert missed == set()
    assert len(called) > 10


def test_trials_outlive_a_change_of_how_they_are_judged():
    from lemmata.engine.catalogue._states import ASKED, ENGINE, trials_print
    from lemmata.engine.catalogue._states import prints as whole

    claim = files.Node("lemmata.subjects.tangent.ensembles", "EnsembleMean")
    told = [{node.module for node in prints.reached([claim, *(files.Node(*node) for node in roots)], ASKED)}
            for roots in (ENGINE[:1], ENGINE)]  # fmt: skip
    judging = {f"lemmata.engine.claims.{name}" for name in ("_judge", "_controls", "_means", "_components")}
    assert not judging & told[0]
    assert judging <= told[1]
    assert told[0] < told[1]
    own = trials_print(*claim[:2])
    assert own == prints.fingerprint((claim[:2], ENGINE[0]), (claim.module,), ASKED, claim.name).whole
    assert own != whole(*claim[:2]).whole


ANSWERS = {
    "predict = 0.0": "def predict(self, problem):\n        return jnp.zeros(())",
    "predict = -1.0": "def predict(self, other):\n        return -jnp.ones(())",
    "predict = (0.25, 1)": "def predict(self, problem):\n        return jnp.array([0.25, 1.0])",
    "trivial = MARGIN": "def trivial(self, problem):\n        '''The half.'''\n        return jnp.asarray(MARGIN)",
    "settings = Kernel(3)": "def settings(self):\n        return Kernel(3)",
}
_CONTROL = '    control = Control("twice as much", lambda v, p: 2 * v, loose="no nearer one")\n'


@pytest.mark.parametrize("value", ANSWERS)
def test_an_answer_is_the_same_as_a_value_and_as_a_method(digests, value):
    predict = ("def predict", "def predicted")  # the claim's own makes room
    as_value = digests(predict, (_CONTROL, f"{_CONTROL}    {value}\n"))
    as_method = digests(predict, (_CONTROL, f"{_CONTROL}\n    {ANSWERS[value]}\n"))
    assert as_value.whole == as_method.whole
    other = value.replace("0.0", "0.5").replace("-1.0", "1.0").replace("0.25, 1", "1, 0.25").replace("(3)", "(4)")
    other = other.replace("MARGIN", "2 * MARGIN")
    assert digests(predict, (_CONTROL, f"{_CONTROL}    {other}\n")).whole != as_value.whole


def test_an_answer_that_depends_on_the_problem_is_no_value(digests):
    def told(answer: str) -> str:
        method = f"\n    def trivial(self, problem):\n        return {answer}\n"
        asked = ("return kernel.value", "self.trivial\n        return kernel.value")
        return digests(asked, (_CONTROL, f"{_CONTROL}{method}")).whole

    assert told("problem.x") != told("problem.y")
