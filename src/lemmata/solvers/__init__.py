"""Floor 2: kernel regression and its training through time, on matrices; each answer says what it cost."""

from ._flow import Trajectory as Trajectory
from ._flow import gradient_descent as gradient_descent
from ._flow import gradient_flow as gradient_flow
from ._ridge import Solution as Solution
from ._ridge import kernel_ridge as kernel_ridge
from ._ridge import leave_one_out_residuals as leave_one_out_residuals
from ._ridge import predict as predict
