"""The stock of populations: fields drawn from named laws, settings that are fields, sizes that are settings."""

import pathlib
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from scipy import stats

from lemmata.engine.claims import Choice, Hypothesis, Integer, Real
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, signs, uniform
from lemmata.engine.problems.rows import Rows, finite
from lemmata.engine.problems.variables import dimension, rows
from lemmata.errors import SettingError, UnknownNameError


class Noisy(eqx.Module):
    """A table with noise of a size, and a kind."""

    x: Float[Array, "n d"]
    size: Float[Array, ""]
    level: Float[Array, ""]
    kind: str = eqx.field(static=True)
    share: float = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=0.05)


POPULATION = Drawn(
    Noisy,
    positive("size", "noise"),
    lambda own: Hypothesis("the share", own.share, "<", 0.5, "a minority"),
    free=("x",),
    rules={"there are more rows than columns": lambda s: s["n"] > s["d"]},
    n=rows(12, 2),
    d=dimension(3),
    x=normal("n", "d", times=2.0),
    size=uniform(0.5, 1.0, times=Real(3.0, 1.0, 9.0, "largest size")),
    level=Real(0.25, 0.0, 1.0, "level"),
    kind=Choice("a", ("a", "b"), "kind"),
    share=Real(0.1, 0.0, 0.9, "share"),
)


def sampled(population, key, **setting):
    return population.sample(population.settings().resolve(setting), key)


def test_fields_are_drawn_given_or_left_at_their_defaults(key):
    problem = sampled(POPULATION, key, n=5, kind="b", share=0.3)
    assert problem.x.shape == (5, 3)
    assert 1.5 <= float(problem.size) <= 3.0
    assert isinstance(problem.level, jax.Array)
    assert float(problem.level) == 0.25
    assert (problem.kind, problem.share, problem.delta) == ("b", 0.3, 0.05)
    assert list(POPULATION.settings().variables) == ["n", "d", "size", "level", "kind", "share"]
    assert POPULATION.problem is Noisy
    assert POPULATION.free == ("x",)


def test_each_law_has_a_key_that_is_split_off_and_a_single_law_the_key_itself(key):
    first, second = jax.random.split(key)
    problem = sampled(POPULATION, key)
    assert (problem.x == 2.0 * jax.random.normal(first, (12, 3))).all()
    assert float(problem.size) == float(3.0 * jax.random.uniform(second, minval=0.5, maxval=1.0))
    alone = Drawn(Rows, n=rows(4), x=normal("n", 2))
    assert (sampled(alone, key).x == jax.random.normal(key, (4, 2))).all()


def test_hypotheses_and_rules_are_asked(key):
    names = {each.name: bool(each.holds) for each in POPULATION.hypotheses(sampled(POPULATION, key, share=0.7))}
    assert names == {"size is positive": True, "the share": False}
    with pytest.raises(SettingError, match="more rows than columns"):
        POPULATION.settings().resolve({"n": 3})
    assert not bool(finite(Rows(jnp.array([[jnp.nan]]))).holds)


def test_laws_are_what_their_names_say(key):
    draw = lambda law: np.asarray(law.draw({"most": 8.0}, key)).ravel()
    assert stats.kstest(draw(normal(2000, times=2.0)), "norm", (0, 2)).pvalue > 1e-3
    assert stats.kstest(draw(uniform(-1.0, "most", 2000)), "uniform", (-1, 9)).pvalue > 1e-3
    assert stats.kstest(np.log(draw(log_uniform(0.5, "most", 2000))), "uniform", np.log([0.5, 16.0])).pvalue > 1e-3
    assert set(draw(signs(100))) == {-1.0, 1.0}


def test_a_name_that_is_neither_field_nor_setting_is_refused():
    with pytest.raises(UnknownNameError, match="'m' of Rows"):
        Drawn(Rows, n=rows(4), x=normal("m"))
    with pytest.raises(UnknownNameError, match="'z' of Rows"):
        Drawn(Rows, z=normal())


def test_a_users_problem_is_posed_where_a_function_says_how():
    posing = Drawn(
        Rows, pose=lambda problem: Rows(jnp.asarray(problem)) if isinstance(problem, np.ndarray) else None, x=normal(3)
    )
    posed = posing.posed(np.zeros(2))
    assert posed is not None
    assert posed.x.shape == (2,)
    assert posing.posed(3) is None
    assert Drawn(Rows, x=normal(3)).posed(np.zeros(2)) is None


def test_settings_without_laws_are_a_population_too(key):
    class Sizes(eqx.Module):
        n: int = eqx.field(static=True)

    assert sampled(Drawn(Sizes, n=Integer(3, 1, 9, "sizes")), key, n=7).n == 7


def test_the_documented_population_is_that_of_the_example(key):
    """The page shows the same settings and problems made by the stock."""
    text = (pathlib.Path(__file__).parents[3] / "docs" / "claims.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]
    (stock,) = re.findall(r"```\n(population = .*?)```", text, flags=re.DOTALL)
    names = {"Drawn": Drawn, "positive": positive}
    exec(example.split("class ChebyshevMean")[0] + stock, names)
    own, drawn = names["GammaDraws"](), names["population"]
    assert drawn.settings().variables == own.settings().variables
    assert sampled(drawn, key) == sampled(own, key)
