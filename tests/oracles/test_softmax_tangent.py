"""The softmax tangent kernel against the finite network's kernel, written out from its definition in NumPy.

    H[l1, l2][i, j] = (1/m) <x_i, x_j> sum_r <v[l1,r], S_i> m S_i[r] <v[l2,r], S_j> m S_j[r],
    v[l,r] = a[l,r] 1 - a[l],   S_i = softmax(W' x_i),

at the symmetric initialisation w_{2r-1} = w_{2r} ~ N(0, sigma² I), a_{2r-1} = -a_{2r} in {-1, 1}^outputs.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.kernels import SoftmaxTangent, gram

SIGMA, OUTPUTS, POINTS, DIMENSION = 0.5, 2, 3, 3
WIDTHS = (256, 512, 1024, 2048, 4096)
NETWORKS = 1000
LEVEL = 1e-3
EPS = float(np.finfo(np.float64).eps)


def points():
    x = np.random.default_rng(3).normal(size=(POINTS, DIMENSION))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def initialise(rng, width):
    """W of shape (d, m) and a of shape (outputs, m), in pairs of units."""
    w = np.repeat(SIGMA * rng.normal(size=(DIMENSION, width // 2)), 2, axis=1)
    a = np.repeat(rng.choice([-1.0, 1.0], size=(OUTPUTS, width // 2)), 2, axis=1)
    a[:, 1::2] *= -1
    return w, a


def softmax(w, x):
    """S of shape (n, m)."""
    weights = np.exp(x @ w)
    return weights / weights.sum(axis=1, keepdims=True)


def literal_kernel(w, a, x):
    """The definition, every sum written out: O(m²) for each pair of an output and a point."""
    m, n = w.shape[1], len(x)
    s = softmax(w, x)
    h = np.zeros((OUTPUTS * n, OUTPUTS * n))
    inner = np.zeros((OUTPUTS, m, n))
    for output in range(OUTPUTS):
        for r in range(m):
            v = a[output, r] * np.ones(m) - a[output]
            for i in range(n):
                inner[output, r, i] = sum(v[q] * s[i, q] for q in range(m)) if m <= 64 else v @ s[i]
    for one in range(OUTPUTS):
        for two in range(OUTPUTS):
            for i in range(n):
                for j in range(n):
                    total = 0.0
                    for r in range(m):
                        total += inner[one, r, i] * m * s[i, r] * inner[two, r, j] * m * s[j, r]
                    h[one * n + i, two * n + j] = x[i] @ x[j] * total / m
    return h


def summed_kernel(w, a, x):
    """The same without v: <v[l,r], S_i> = a[l,r] sum_q S_i[q] - <a[l], S_i>. O(m)."""
    m, n = w.shape[1], len(x)
    s = softmax(w, x)
    inner = a[:, None, :] * s.sum(axis=1)[None, :, None] - (a @ s.T)[:, :, None]
    features = (inner * m * s[None]).reshape(OUTPUTS * n, m)
    return np.tile(x @ x.T, (OUTPUTS, OUTPUTS)) * (features @ features.T) / m


def limit():
    return np.kron(np.eye(OUTPUTS), np.asarray(gram(SoftmaxTangent(sigma=SIGMA), jnp.asarray(points()))))


def first_order_bias():
    """C with E H = limit + C/m + O(1/m²) on the diagonal blocks.

    H / <x_i, x_j> is a ratio N / (A B) of means over m/2 independent pairs, of u_i u_j, u_i and u_j, where u_i =
    exp(<w, x_i> - sigma² |x_i|² / 2) has mean 1. To second order a ratio of means errs by the covariances
    Var A + Var B + Cov(A, B) - Cov(N, A)/N - Cov(N, B)/N, each relative; for lognormals these are exponentials.
    """
    x = points()
    s = SIGMA**2 * (x @ x.T)
    own = np.diag(s)
    covariances = np.expm1(own)[:, None] + np.expm1(own)[None, :] + np.expm1(s)
    covariances -= np.expm1(s + own[:, None]) + np.expm1(s + own[None, :])
    return np.kron(np.eye(OUTPUTS), x @ x.T * np.exp(s) * 2 * covariances)


@pytest.fixture(scope="module")
def finite_kernels():
    """For each width, the kernels of independent networks: (networks, nd, nd)."""
    x, kernels = points(), {}
    for width in WIDTHS:
        rng = np.random.default_rng([11, width])
        kernels[width] = np.stack([summed_kernel(*initialise(rng, width), x) for _ in range(NETWORKS)])
    return kernels


@pytest.mark.parametrize("width", [32, 256])
def test_sums_without_v_are_the_definition(width):
    w, a = initialise(np.random.default_rng(5), width)
    literal = literal_kernel(w, a, points())
    assert np.max(np.abs(literal - summed_kernel(w, a, points()))) <= 8 * width * EPS * np.max(np.abs(literal))


def test_definition_is_the_tangent_kernel_of_the_network():
    # F(x)_l = m <a_l, softmax(W' x)>, differentiated by JAX: H = J J' / m.
    w, a = initialise(np.random.default_rng(6), 16)
    x = jnp.asarray(points())
    jacobian = jax.jacobian(lambda w: 16 * jnp.asarray(a) @ jax.nn.softmax(x @ w, axis=1).T)(jnp.asarray(w))
    features = np.asarray(jacobian).reshape(OUTPUTS * POINTS, -1)
    h = literal_kernel(w, a, points())
    assert np.max(np.abs(features @ features.T / 16 - h)) <= 64 * 16 * EPS * np.max(np.abs(h))


@pytest.mark.parametrize("width", WIDTHS)
def test_mean_finite_kernel_is_the_limit_up_to_its_bias(finite_kernels, width):
    sample = finite_kernels[width]
    error = sample.std(axis=0, ddof=1) / np.sqrt(NETWORKS)
    quantile = stats.t.isf(LEVEL / (2 * error.size * len(WIDTHS)), NETWORKS - 1)
    bias = first_order_bias() / width
    # The remainder O(1/m²) is taken as the square of the relative bias, with a factor for its unknown constant.
    remainder = 10 * np.max(np.abs(bias)) ** 2 / np.max(np.abs(limit()))
    deviation = np.abs(sample.mean(axis=0) - limit() - bias)
    assert np.all(deviation <= quantile * error + remainder)
    assert np.max(quantile * error) < 0.2 * np.max(np.abs(limit())), "the test is too weak to see a wrong limit"


@pytest.mark.parametrize("wrong", [0.95 * SIGMA, 1.05 * SIGMA])
def test_mean_finite_kernel_is_not_that_of_another_sigma(finite_kernels, wrong):
    width = WIDTHS[-1]
    sample = finite_kernels[width]
    error = sample.std(axis=0, ddof=1) / np.sqrt(NETWORKS)
    other = np.kron(np.eye(OUTPUTS), np.asarray(gram(SoftmaxTangent(sigma=wrong), jnp.asarray(points()))))
    assert np.max(np.abs(sample.mean(axis=0) - other - first_order_bias() / width) / error) > 6


def test_blocks_of_different_outputs_vanish(finite_kernels):
    off = [finite_kernels[width][:, :POINTS, POINTS:] for width in WIDTHS]
    for sample in off:
        z = sample.mean(axis=0) / (sample.std(axis=0, ddof=1) / np.sqrt(NETWORKS))
        assert np.max(np.abs(z)) <= stats.t.isf(LEVEL / (2 * z.size * len(WIDTHS)), NETWORKS - 1)
    check_rate([sample.reshape(NETWORKS, -1) for sample in off])


def test_deviation_decays_as_width_to_the_minus_half(finite_kernels):
    check_rate([(finite_kernels[width] - limit()).reshape(NETWORKS, -1) for width in WIDTHS])


def slope_and_error(deviations):
    """The log-log slope of the root mean square deviation in the width, and its standard error.

    The networks of different widths are independent, so the variance of the slope adds up over the widths; that of a
    log root mean square is that of the mean square, divided by 4 times its square. (The variance is C/m (1 + c/m): the
    correction grows with exp(sigma²), bends the slope by about 0.005 at sigma = 0.5, within the interval, and by 0.02
    at sigma = 0.7.)
    """
    squares = [np.mean(deviation**2, axis=1) for deviation in deviations]
    logs = np.array([np.log(np.mean(square)) / 2 for square in squares])
    errors = np.array([np.std(q, ddof=1) / np.sqrt(len(q)) / (2 * np.mean(q)) for q in squares])
    t = np.log(WIDTHS) - np.mean(np.log(WIDTHS))
    weights = t / np.sum(t**2)
    return weights @ logs, np.sqrt(np.sum((weights * errors) ** 2))


def check_rate(deviations):
    slope, error = slope_and_error(deviations)
    half_width = stats.norm.isf(LEVEL / 2) * error
    assert half_width < 0.05, "the interval is too wide to tell the rate"
    assert abs(slope + 0.5) <= half_width, f"slope {slope:.4f} +- {half_width:.4f}"


def test_gram_is_strictly_positive_on_distinct_points_and_zero_at_the_origin():
    x = points()
    kernel = SoftmaxTangent(sigma=SIGMA)
    eigenvalues = np.linalg.eigvalsh(np.asarray(gram(kernel, jnp.asarray(np.vstack([x, -x, 0.5 * x])))))
    assert eigenvalues[0] > 100 * 9 * EPS * eigenvalues[-1]
    assert np.all(np.asarray(kernel.cross(jnp.zeros((1, DIMENSION)), jnp.asarray(x))) == 0)
