"""The penalty and the sizes of the theory of in-context learning, from its formulas with other groupings."""

import math

import pytest

from lemmata.engine.problems.theorem_sizes import Choices, parameter_choices, penalty_of_theory
from lemmata.errors import SettingError


@pytest.mark.parametrize(
    ("cost", "noise", "misfit", "examples", "layers", "number"), [(2.0, 0.5, 0.3, 50, 21, 7), (0.4, 0.0, 0.0, 8, 3, 2)]
)
def test_the_penalty_is_that_of_its_equations(cost, noise, misfit, examples, layers, number):
    h = math.exp(0.5 * (math.log(math.log(examples)) - math.log(examples)))
    e = h * cost**2 + h * cost * noise + misfit**2 + number / layers * cost**2
    wanted = h ** (1 / 3) * e ** (2 / 3) / cost ** (1 / 3) + h * cost + h * noise + misfit * misfit / cost
    sizes = {"examples": examples, "layers": layers, "number": number}
    assert float(penalty_of_theory(cost, noise, misfit, **sizes)) == pytest.approx(wanted, rel=1e-12)
    assert float(penalty_of_theory(cost, noise, misfit, **sizes, constant=3.0)) == pytest.approx(3 * wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("error", "barron", "noise", "cover", "constant", "wanted"),
    [
        (0.1, 1.0, 0.0, 5.0, 1.0, (22, 100, 501)),  # D - d = 50, N = 100, L >= 500
        (0.5, 2.0, 1.0, 3.0, 1.0, (9, 144, 289)),  # D - d = 24, N = 144, L >= 288
        (0.5, 2.0, 1.0, 3.0, 0.5, (3, 72, 73)),  # D - d = 12, N = 72, L >= 72
        (1.0, 1.0, 0.0, 9.0, 1.0, (1, 2, 9)),  # D - d = 9, N >= 2, L = 9
        (1.0, 1.0, 0.0, 10.0, 1.0, (2, 2, 11)),  # n is rounded up
        (4.0, 1.0, 0.0, 1.0, 1.0, (1, 2, 1)),  # least sizes
    ],
)
def test_sizes_are_the_smallest_of_the_theorem(error, barron, noise, cover, constant, wanted):
    assert parameter_choices(error, barron, noise, cover, constant) == Choices(*wanted)


@pytest.mark.parametrize("name", ["error", "barron", "log_cover", "noise"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_sizes_of_impossible_numbers_are_refused(name, value):
    given = {"error": 0.1, "barron": 1.0, "noise": 0.5, "log_cover": 5.0, name: value}
    if name == "noise" and value == 0:
        assert parameter_choices(**given).examples == 100
    elif name == "noise" and value == math.inf:
        return
    else:
        with pytest.raises(SettingError, match=name):
            parameter_choices(**given)
