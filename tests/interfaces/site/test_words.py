"""Signs in the sentences of claims: what multiplies is a sign, and not a variable."""

import re

from lemmata.engine.catalogue import rows, told_mutations
from lemmata.interfaces.site._prose import sentence


def test_a_factor_of_a_slightly_wrong_version_is_no_product_with_a_variable():
    said = {told_mutations(row["mutations"]) for row in rows() if row["mutations"]}
    factors = [text for text in said if "× " in text]
    assert len(factors) > 100
    assert not [text for text in said if re.search(r"\bx (\d|none)", text)]
    for text in factors:
        assert "<mi>x</mi>" not in sentence(text), text
