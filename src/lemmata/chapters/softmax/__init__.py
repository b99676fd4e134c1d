"""Two-layer softmax networks: they train like their tangent kernel, and learn scores for diffusion models.

The chapter executes "Exploring the Frontiers of Softmax" (gu2024softmax), appendix included. Sections in the order of
the source: `network`, `infinite_width`, `definiteness`, `drift`, `facts`, `tails`, `concentration`, `normalisation`,
`perturbation` and `perturbation_proof`, `gradient`, `decomposition`, `remainders`, `progress`, `induction`,
`convergence`, `comparison`, `regression`, `speeds`, `coupling`, `diffusion`, `denoisers`, `score_matching`,
`score_error`, `approximation`, `early_stopping`, `sampling`, `attention`. `parameters` holds the formulas that they
share.

Numbered statements that are not claims of their own, each with the reason:

* Equation (1), Definition 3.2, Definition 3.5 and Definition A.2 name the network, its loss, a step of descent and the
  length D. A name is neither true nor false; `lemmata.networks.SoftmaxNetwork` and `parameters` compute them, and the
  claims stand on them.
* Assumption 6.1, Assumption 6.2 and Assumption 6.3 are conditions on data and on the schedule g. They are hypotheses
  of the claims that suppose them, evaluated on every problem: all three of the bounds on the error of the score and on
  its label mismatch, the first and the third of the rate of approximation, the third of every sampler. The Lipschitz
  condition that follows them is a hypothesis of the same bounds, with the constant that `diffusion` knows for each law.
* Equations (8), (9), (11), (12), (13), (18), (19), (20), (21), (22) and (23) are steps of proofs and names. (8) is
  `concentration.pair_logit_change`, and (9) the same with one input, by which `concentration.moved_logit_bound` adds R.
  (11) is the square of a sum, `facts.squared_distance`, on which `decomposition.loss_decomposition` stands. (12) is
  arithmetic: with the eta of the theory the quadratic term is 0.2 m eta lambda exactly; (13) is what it is for,
  `induction.one_step_contracts`. (18) is the second part of `progress.progress_split`, and (19) half of
  `progress.progress`. (20) is `perturbation.kernel_perturbation` at the R of the theory. (21) is a triangle
  inequality and (22) the root of `remainders.change_term`, entry by entry. (23) defines the regression's predictor,
  which the claims of `regression` compute.
* Theorem G.2 repeats the main theorem on score estimation word for word.

Constants that the source hides in O and Omega are taken as 1. A verdict speaks of the statement with that constant, not
of the statement that some constant exists; where no constant can save a statement, the claim shows a ladder on which
every constant fails.
"""
