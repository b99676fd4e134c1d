"""Floor 2: kernel regression and its training through time, and the Lasso, on matrices."""

from ._flow import Trajectory as Trajectory
from ._flow import gradient_descent as gradient_descent
from ._flow import gradient_flow as gradient_flow
from ._gaussian_process import Posterior as Posterior
from ._gaussian_process import log_evidence as log_evidence
from ._gaussian_process import posterior as posterior
from ._lasso import accelerated_proximal_gradient as accelerated_proximal_gradient
from ._lasso import lasso_objective as lasso_objective
from ._lasso import momentum as momentum
from ._lasso import proximal_gradient as proximal_gradient
from ._lasso import soft_threshold as soft_threshold
from ._ridge import Solution as Solution
from ._ridge import kernel_ridge as kernel_ridge
from ._ridge import leave_one_out_residuals as leave_one_out_residuals
from ._ridge import predict as predict
from ._ridge import require_positive_semidefinite as require_positive_semidefinite
