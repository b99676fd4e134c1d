"""Components that say nothing, and the trials that are left: counted by hand on small tables."""

import numpy as np
import pytest

from lemmata.engine.claims import AtMost, EqualInMean, Rate, Sample, Witness
from lemmata.engine.claims._components import asked, counted, silent_components, told_silence
from lemmata.engine.claims._relations import ROUNDING

YES, NO = True, False


def sample(predicted, measured, condition):
    return Sample(np.asarray(predicted, float), np.asarray(measured, float), np.asarray(condition, float))


def test_a_component_is_silent_where_rounding_reaches_a_hundredth_of_the_control():
    edge = 0.01 / ROUNDING  # the condition at which the tolerance is a hundredth of the value
    predicted = np.array([[1.0, 1.0, 1.0]] * 4)
    false = np.array([[1.5, 1.0, 3.0]] * 4)
    conditions = np.array([0.49, 0.51, 0.99, 1.01]) * edge
    found = silent_components(AtMost(), sample(predicted, 0.5 * predicted, conditions), false)
    assert found is not None
    assert found.tolist() == [[NO, NO, NO], [YES, NO, NO], [YES, NO, NO], [YES, YES, YES]]


def test_an_infinite_control_leaves_room_for_any_rounding_below_a_hundredth():
    own = sample([[1.0], [np.inf]], [[0.5], [0.5]], [1.0, 1.0])
    found = silent_components(AtMost(), own, np.array([[np.inf], [np.inf]]))
    assert found is not None
    assert found.tolist() == [[NO], [NO]]


def test_only_relations_of_single_trials_have_silent_components():
    numbers = sample(np.ones(3), np.ones((3, 2)), np.ones(3))
    assert silent_components(EqualInMean(), numbers, np.ones(3)) is None
    assert silent_components(Rate(), numbers, np.ones(3)) is None
    twice = silent_components(Witness(probability=0.9), numbers, np.full(3, 2.0))
    assert twice is not None
    assert twice.tolist() == [[NO]] * 3


def test_the_trials_that_count_are_those_of_the_component_with_the_fewest():
    wrong = np.array([[NO, NO], [NO, YES], [NO, NO], [NO, NO]])
    mute = np.array([[YES, NO], [YES, YES], [YES, NO], [NO, NO]])
    assert counted(wrong, mute) == 2, "the last trial, and the one that contradicts the statement"
    assert counted(wrong, np.zeros((4, 2), bool)) == 4
    assert counted(np.zeros((4, 0), bool), np.zeros((4, 0), bool)) == 4
    assert counted(np.zeros((4, 2), bool), np.ones((4, 2), bool)) == 0


def test_silence_is_told_of_the_least_informative_component():
    mute = np.array([[NO, YES], [NO, YES], [YES, NO]])
    said = (
        "; in {} trials the rounding tolerance is too large to separate claim and control, so these trials say nothing"
    )
    assert told_silence(mute) == said.format(2) + " in component 2 of 2"
    assert told_silence(mute[:, :1]) == said.format(1)
    assert told_silence(np.zeros((3, 2), bool)) == ""
    assert told_silence(np.zeros((3, 0), bool)) == ""
    infinite = np.array([[NO, YES], [NO, NO], [NO, NO]])
    assert told_silence(mute, infinite) == (
        "; 1 infinite bounds, which say nothing in component 2 of 2" + said.format(1) + " in component 2 of 2"
    )
    assert told_silence(mute[:, :1], mute[:, :1]) == "; 1 infinite bounds, which say nothing"


@pytest.mark.parametrize(
    ("needed", "said", "trials", "wanted"), [(10, 5, 20, 40), (10, 3, 20, 67), (10, 20, 20, 10), (10, 0, 20, None)]
)
def test_as_many_trials_are_asked_for_as_give_the_needed_ones(needed, said, trials, wanted):
    assert asked(needed, said, trials) == wanted
