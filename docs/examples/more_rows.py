"""How much would more rows help? A study of the wine data, and the curves of its models."""

import lemmata

found = lemmata.study("wine", models=["linear", "forest", "neighbours"], quick=True)
print(found.answer)
last = found.curves.filter(kind="measured").group_by("model", maintain_order=True).last()
for model, value in last.select("model", "value").iter_rows():
    print(f"{model}: accuracy {value:.3f} with the most rows")

found.plot().save("more_rows.svg")
