"""A claim is found by its name without the others, and it is the same object as in the registry."""

import subprocess
import sys

import pytest

from lemmata.engine.claims import find, registry
from lemmata.engine.claims._places import place_of
from lemmata.errors import UnknownNameError


def test_each_claim_is_found_by_its_whole_name_and_by_its_class():
    for name, claim in list(registry().items())[::11]:
        assert find(name) == [claim], name
        assert find(type(claim).__name__) == [claim], name


def test_each_section_is_found_with_its_claims_in_their_order():
    places = dict.fromkeys(name.rpartition(".")[0] for name in registry())
    for place in places:
        own = [claim for name, claim in registry().items() if name.startswith(f"{place}.")]
        assert all(a is b for a, b in zip(find(place), own, strict=True)), place


@pytest.mark.parametrize("name", ["optimisers", "Lemma E.4", "", "decay", "no_such_claim", "optimisers.", ".decay"])
def test_what_the_text_of_files_does_not_tell_is_left_to_the_registry(name):
    assert place_of(name, "lemmata.subjects") is None


def test_the_end_of_a_name_means_its_claim_or_is_refused_where_two_have_it():
    ends = {}
    for name in registry():
        ends.setdefault(name.partition(".")[2], []).append(name)
    for place, (end, names) in enumerate(ends.items()):
        if len(names) == 1 and place % 11:
            continue
        if len(names) == 1:
            assert [claim.name for claim in find(end)] == names
        else:
            with pytest.raises(UnknownNameError):
                find(end)


def test_one_claim_loads_one_section():
    program = "import sys; from lemmata.engine.claims import find; find('adamw_solves_box'); "
    program += "print(sum(name.startswith('lemmata.subjects.') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=240)
    assert 0 < int(done.stdout) < 30  # of some 300
