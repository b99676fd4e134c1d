"""In-context learning by construction: one transformer that runs the Lasso on universal features.

The chapter executes "Transformers meet in-context learning" (li2025incontext), appendices included. Its objects
are products of the library: classes of functions, what they cost, features and covers (`lemmata.functions`), the
transformer, structured and dense (`lemmata.networks`), and its files (`lemmata.storage`). Its claims, in the order of
the source: `barron`, `example_classes`, `logistic_units` and `covering` (section 2.3, appendix B), `risk`, `scaling`
and `penalty` (Theorem 1), `steps`, `integrals`, `features` and `uniform_features` (Lemmas 1 and 5), `estimation`,
`deviation` and `maxima` (Lemmas 2 and 6), `proximal` and `inexact` (Lemma 3), `emulation` (Lemma 4), `temperature`
(Lemmas 4 and 7) and `precision`. Beyond the source: `acceleration` (momentum in the weights),
`shifts` (outside the hypotheses) and `linear_attention`.

Numbered statements that are not claims of their own, each with the reason:

* Equations (1) to (4) and (10) to (18): the prompt, the noise, the ball, the architecture and the Fourier transform.
  They are names; `lemmata.networks` and `lemmata.functions` compute them, and (2) and (3) are hypotheses.
* Equation (19), with (21) and (22), and (26), (29), (30), (33) to (35), (40), (50), (51), (57), (71), (73), (79), (80)
  and (82): definitions of the Barron parameter, of the classes, features, targets, tokens, measures and densities.
  `barron_parameter`, `UniversalFeatures`, `features_of`, `representing_coefficients`, `step_density` and
  `InContextTransformer.tokens` compute them, and the claims stand on them.
* Equation (31) is (27) with the abbreviation (30), and (93) repeats it; (32) and (38) are the Lasso and its iteration,
  which `lemmata.solvers` compute.
* Equations (60), (61) and (63) add up (36), (59) and (58) to Theorem 1 with hidden constants: arithmetic of orders,
  which the claims on the risk measure at its end.
* Equations (67), (68), (76), (77) and (78) are lines of the proof of Lemma 5, and (74) is (27) before (69) is inserted.
* Equations (85) to (89) are lines of the proof of Lemma 2, and (91), (94) and (95) of that of Lemma 6, the sum of whose
  terms is judged.
* Equations (103) to (105) are lines of the proof of (97), which is judged at every step.
* Equations (110), (111), (115), (117), (123) and (126) say what layers are meant to do: a forward pass with these
  weights is compared with it row by row.
* Remark 1, Remark 2 and Remark 3 announce what the appendix proves.

Constants that the source hides are made explicit where its proof gives them; elsewhere exponents are judged.
"""
