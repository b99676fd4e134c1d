"""Two-layer softmax networks: they train like their tangent kernel, and learn scores for diffusion models.

The chapter executes "Exploring the Frontiers of Softmax" (gu2024softmax), appendix included. Sections in the order of
the source: `network`, `infinite_width`, `definiteness`, `drift`, `facts`, `tails`, `concentration`, `normalisation`,
`perturbation` and `perturbation_proof`, `gradient`, `decomposition`, `remainders`, `progress`, `induction`,
`convergence`, `comparison`, `regression`, `coupling`, `diffusion`, `denoisers`, `score_matching`, `score_error`,
`approximation`, `early_stopping`, `sampling`, `attention`. `parameters` holds the formulas that they share.

Numbered statements that are not claims of their own, each with the reason:

* Equation (1), Definition 3.2, Definition 3.5 and Definition A.2 name the network, its loss, a step of descent and the
  length D. A name is neither true nor false; `lemmata.networks.SoftmaxNetwork` and `parameters` compute them, and the
  claims stand on them.
* Assumption 6.1, Assumption 6.2 and Assumption 6.3 are conditions on data and on the schedule g. They are hypotheses
  of the claims that need them, evaluated on every problem.
* Theorem G.2 repeats the main theorem on score estimation word for word.

Constants that the source hides in O and Omega are taken as 1. A verdict speaks of the statement with that constant, not
of the statement that some constant exists; where no constant can save a statement, the claim shows a ladder on which
every constant fails.
"""
