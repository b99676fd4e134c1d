"""The grammar: hypotheses, settings, sources, examination, conformance, interruption, documentation."""

import concurrent.futures
import math
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import (
    UNSEEN,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Real,
    Source,
    Space,
    Status,
    check_claim,
    cite,
    examine,
    find,
    load_file,
    verify,
    verify_all,
)
from lemmata.errors import ClaimError, MissingDataError, PrecisionError, SettingError, UnknownNameError
from tests.engine.claims import synthetic

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "claims.md"


@pytest.mark.parametrize(
    ("value", "relation", "threshold", "holds", "margin"),
    [
        (1.0, "<=", 2.0, True, 0.5),
        (2.0, "<=", 2.0, True, 0.0),
        (2.0, "<", 2.0, False, 0.0),
        (3.0, "<=", 2.0, False, -1 / 3),
        (3.0, ">=", 2.0, True, 1 / 3),
        (-1.0, ">", 0.0, False, -1.0),
        (0.0, "==", 0.0, True, 0.0),
        (1.0, "==", 2.0, False, -0.5),
        (1.0 + 1e-15, "<=", 1.0, True, 0.0),
        (0.5, "<", math.inf, True, 1.0),
        (math.inf, "<", math.inf, False, 0.0),
        (math.inf, "<=", 2.0, False, -1.0),
    ],
)
def test_hypothesis(value, relation, threshold, holds, margin):
    hypothesis = Hypothesis("h", value, relation, threshold)
    assert bool(hypothesis.holds) is holds
    assert float(hypothesis.margin) == pytest.approx(margin, abs=1e-14)


def test_a_hypothesis_that_cannot_be_checked_neither_holds_nor_fails():
    class Open(synthetic.SureBound):
        """Open."""

        def hypotheses(self, problem):
            return [Hypothesis.unchecked("independent rows", "one table cannot show it")]

    examination = examine(Open(), jnp.asarray(1.0), jax.random.key(0))
    assert examination.applies
    assert examination.hypotheses[-1].holds is None
    assert examination.agrees is True


def test_unknown_relation_of_a_hypothesis():
    with pytest.raises(ValueError, match="is not one of"):
        Hypothesis("h", 1.0, "~", 2.0)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"n": "1.5"}, SettingError, "a whole number from 2 to 1000"),
        ({"n": 1}, SettingError, "from 2 to 1000"),
        ({"n": True}, SettingError, "whole number"),
        ({"m": 3}, UnknownNameError, "did you mean|one of n, s"),
        ({"s": "nan"}, SettingError, "a number from 0.0 to 1.0"),
        ({"s": "x"}, SettingError, "a number"),
    ],
)
def test_bad_settings_name_the_bounds(given, error, message):
    with pytest.raises(error, match=message):
        Space(n=Integer(40, 2, 1000), s=Real(0.5, 0.0, 1.0)).resolve(given)


def test_citation_of_claims_and_sources_is_sorted_and_unique():
    printed = cite(synthetic.SureBound(), Source("gu2024softmax", "Theorem 4.2"), [synthetic.PowerLaw()], 3)
    assert len(printed) == 2
    assert printed[1].startswith("W. Hoeffding (1963). Probability inequalities")


def test_an_unknown_source_says_what_to_add():
    with pytest.raises(ClaimError, match=r"references\.bib"):
        str(Source("nobody1900", "Theorem 1"))


def test_examination_of_a_problem():
    examination = examine(synthetic.SureBound(shift=0.9), jnp.asarray(2.0), jax.random.key(1))
    assert examination.applies
    assert examination.agrees is False
    assert examination.predicted == pytest.approx(0.2)
    assert examination.ratio == pytest.approx(examination.predicted / examination.measured)


def test_examination_names_the_culprit():
    examination = examine(synthetic.SureBound(), jnp.asarray(-2.0), jax.random.key(1))
    assert not examination.applies
    assert examination.culprit == "positive: -2, required > 0"


def test_inapplicable_failed_and_interrupted_runs_are_not_refutations():
    class Nowhere(synthetic.SureBound):
        """Nowhere."""

        def hypotheses(self, problem):
            return [Hypothesis("larger than five", problem, ">", 5.0)]

    class Divides(synthetic.SureBound):
        """Divides."""

        def measure(self, problem, key):
            return problem / 0.0

    class Raises(synthetic.Plain):
        """Raises."""

        def measure(self, problem, key):
            raise np.linalg.LinAlgError("singular")

    class Unseen(synthetic.Plain):
        """Unseen."""

        def measure(self, problem, key):
            raise MissingDataError("radii", found="no package", remedy="pip install it")

    class Interrupted(synthetic.Plain):
        """Interrupted."""

        def measure(self, problem, key):
            Interrupted.count += 1
            if Interrupted.count > 5:
                raise KeyboardInterrupt
            return 0.5

    Interrupted.count = 0
    assert verify(Nowhere(), progress=False).status is Status.INAPPLICABLE
    assert "larger than five" in verify(Nowhere(), progress=False).reason
    assert verify(Divides(), progress=False).status is Status.FAILED
    raised = verify(Raises(), progress=False)
    assert raised.status is Status.FAILED
    assert "singular" in raised.reason
    unseen = verify(Unseen(), progress=False)
    assert (unseen.status, unseen.corners) == (Status.INAPPLICABLE, ())
    assert unseen.reason == f"{UNSEEN}: radii; found no package; remedy: pip install it"
    stopped = verify(Interrupted(), progress=False)
    assert (stopped.status, stopped.executed) == (Status.INCONCLUSIVE, 2)  # each problem is measured twice
    assert "interrupted after 2 of 60" in stopped.reason


def test_support_needs_a_refuted_control():
    class Powerless(synthetic.SureBound):
        """Powerless."""

        control = Control("the same statement", lambda value, problem: value)

    verdict = verify(Powerless(), progress=False)
    assert verdict.status is Status.INCONCLUSIVE
    assert "no power" in verdict.reason
    with pytest.raises(ClaimError, match="inconclusive"):
        check_claim(Powerless())


def test_too_small_a_budget_is_inconclusive_and_says_which_would_do():
    verdict = verify(synthetic.SureBound(), budget=10, progress=False)
    assert verdict.status is Status.INCONCLUSIVE
    needed = int(re.search(r"(\d+) trials could settle", verdict.reason).group(1))
    assert verify(synthetic.SureBound(), budget=needed, progress=False).status is Status.SUPPORTED


@pytest.mark.parametrize(
    ("options", "message"),
    [({"budget": 0}, "budget"), ({"level": 0.0}, "level"), ({"setting": {"q": 1}}, "setting 'q'")],
)
def test_bad_options(options, message):
    with pytest.raises((SettingError, UnknownNameError), match=message):
        verify(synthetic.SureBound(), progress=False, **options)


def test_verification_needs_float64():
    with jax.enable_x64(False), pytest.raises(PrecisionError, match="jax_enable_x64"):
        verify(synthetic.SureBound(), progress=False)


def test_threads_give_the_same_trials_as_one_thread():
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        threaded = verify(synthetic.Plain(), executor=executor, progress=False)
    alone = verify(synthetic.Plain(), progress=False)
    assert threaded.estimate == pytest.approx(alone.estimate, rel=1e-12)
    assert threaded.status is alone.status is Status.SUPPORTED


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": ""}, "no title"),
        ({"controls": " "}, "no controls"),
        ({"source": Source("nobody", "x")}, "references.bib"),
        ({"relation": Equal()}, "same shape|verdict"),
        ({"predict": lambda self, problem: jnp.ones(3) * problem}, "same shape"),
        ({"predict": lambda self, problem: problem * jnp.nan}, "finite"),
        ({"hypotheses": lambda self, problem: [Hypothesis("huge", problem, ">", 1e9)]}, "no trial was judged"),
        ({"predict": lambda self, problem: problem / 10}, "verdict refuted"),
        ({"trivail": 1.0}, "'trivail', which is not used.*did you mean 'trivial'"),
        ({"halved": lambda self, problem: problem / 2}, "'halved', which is not used.*begin the name"),
    ],
)
def test_conformance_names_the_broken_rule(change, message):
    own = {name: vars(synthetic.SureBound)[name] for name in ("relation", "control", "predict", "measure")}
    broken = type("Broken", (synthetic.Synthetic,), {"__doc__": "Broken.", "__module__": __name__, **own, **change})
    with pytest.raises(ClaimError, match=message):
        check_claim(broken())


def test_a_claim_is_found_by_the_end_of_its_name_and_a_near_miss_is_named():
    assert find("hoeffding_held_out")[0].name == "generalisation.concentration.hoeffding_held_out"
    with pytest.raises(UnknownNameError, match=re.escape("generalisation.concentration.hoeffding_held_out")):
        find("generalisation.concentration.hoefding_held_out")


def test_a_chapter_is_meant_before_the_end_of_a_claim_of_that_name():
    assert len(find("robustness")) > 1
    assert {claim.name.partition(".")[0] for claim in find("robustness")} == {"robustness"}
    assert len(find("inexact_proximal_gradient.robustness")) == 1


@pytest.mark.parametrize(
    ("text", "message"), [(None, "existing Python file"), ("1/0", "ZeroDivisionError"), ("x = 1", "at least one class")]
)
def test_bad_claim_files(tmp_path, text, message):
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises((ClaimError, UnknownNameError), match=message):
        load_file(path)


def test_verdicts_are_strict_json():
    record = verify(synthetic.SureBound(), progress=False).to_json()
    assert record["status"] == "supported"
    assert all(not isinstance(value, float) or math.isfinite(value) for value in record.values())


def test_the_documented_example_runs_as_written(tmp_path):
    example, rate, check, section = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    (tmp_path / "chebyshev.py").write_text(example)
    lines = [line for line in example.splitlines() if line.strip()]
    assert 40 <= len(lines) <= 80
    done = subprocess.run([sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout.strip(), done.returncode) == ("supported", 0), done.stderr
    (tmp_path / "both.py").write_text(example + rate)
    assert check_claim(load_file(tmp_path / "both.py")["both.mean_error_rate"]).verdict.status is Status.SUPPORTED
    (claim,) = load_file(tmp_path / "chebyshev.py").values()
    assert claim.name == "chebyshev.chebyshev_mean"
    assert verify(claim, {"n": "500"}, budget=1000, progress=False).status is Status.SUPPORTED
    (tmp_path / "signs.py").write_text(section)
    (claim,) = load_file(tmp_path / "signs.py").values()
    assert check_claim(claim).verdict.status is Status.SUPPORTED


def test_code_that_raises_is_a_failure_in_one_line_not_a_refutation():
    class Broken(synthetic.SureBound):
        """Broken."""

        def predict(self, problem):
            return float("x")

    verdict = verify(Broken(), progress=False)
    assert verdict.status is Status.FAILED
    assert "could not convert string to float" in verdict.reason
    assert "\n" not in verdict.reason


def test_several_claims_stop_at_ctrl_c_and_share_the_level():
    class Interrupted(synthetic.Plain):
        """Interrupted."""

        def measure(self, problem, key):
            raise KeyboardInterrupt

    verdicts = verify_all([synthetic.SureBound(), Interrupted(), synthetic.Identity()], progress=False)
    assert [verdict.status for verdict in verdicts] == [Status.SUPPORTED, Status.INCONCLUSIVE]
    assert verdicts[1].interrupted
    assert "Run the claim again" in verdicts[1].remedy
    claims = [synthetic.SureBound(), synthetic.Identity(shift=1e-9), synthetic.SkewedMean(shift=0.2)]
    verdicts = verify_all(claims, progress=False)
    assert [verdict.status for verdict in verdicts] == [Status.SUPPORTED, Status.REFUTED, Status.REFUTED]
    assert all(verdict.level < 1e-3 for verdict in verdicts if verdict.status is Status.REFUTED)


def test_a_refutation_that_the_family_does_not_allow_is_inconclusive():
    from lemmata.engine.claims._together import _held_against

    refuted = verify(synthetic.SkewedMean(shift=0.2), progress=False)
    alone = _held_against(refuted, refuted.p_value / 2, False)
    assert alone.status is Status.INCONCLUSIVE
    assert "together with the other claims" in alone.reason


def test_a_class_without_a_control_is_named(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from lemmata.engine.claims import Claim\nclass Half(Claim):\n    controls = 'a half'\n"
    )
    with pytest.raises(ClaimError, match="no control, measure, population, predict, relation, source"):
        load_file(tmp_path / "mine.py")


def test_latex_in_references_becomes_text():
    names, journal = "M\\\"uller, J{\\'e}r\\^ome", "Ann. Math\\'ematiques"
    entry = f"@article{{key, author={{{names}}}, title={{On {{RKHS}} spaces}}, "
    entry += f"journal={{{journal}}}, year={{1990}}, pages={{1--9}}}}"
    assert Source("key", "p. 1", entry=entry).text == "J. Müller (1990). On RKHS spaces. Ann. Mathématiques, 1-9."


def test_values_answer_as_methods_do(tmp_path):
    """A claim that states numbers gets the verdict of one that returns them."""
    text = PAGE.read_text(encoding="utf-8")
    first, second = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[:2]
    told = first + second.split("\n", 1)[1]
    told = told.replace("Space\n", "Space, Rate\n", 1)
    method = "\n    def predict(self, problem: Draws) -> Array:\n        return jnp.asarray(-0.5)\n"
    verdicts = []
    for name, source in (("as_value", told), ("as_method", told.replace("    predict = -0.5\n", method))):
        (tmp_path / f"{name}.py").write_text(source)
        claim = next(each for path, each in load_file(tmp_path / f"{name}.py").items() if "mean_error" in path)
        assert float(claim.predict(None)) == -0.5
        verdicts.append(verify(claim, budget=32))
    assert verdicts[0].estimate == verdicts[1].estimate
    assert verdicts[0].interval == verdicts[1].interval


def test_words_are_no_prediction(tmp_path):
    text = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)[0]
    kept = (
        text[: text.index("    def predict")] + '    predict = "a third"\n' + text[text.index("    def measure") - 1 :]
    )
    (tmp_path / "words.py").write_text(kept)
    with pytest.raises(ClaimError, match="predict; found str"):
        load_file(tmp_path / "words.py")
