"""How well sums of ramps and functions of a kernel's space represent others, and at which cost.

Constants that a source hides in O and Omega are taken as 1, and a claim's reading says so; elsewhere exponents are
judged.
"""
