"""Evaluate a JAX function in many digits: carry out its operations one by one on numbers of mpmath.

Operations that move numbers without changing them (slices, gathers, transposes) are run by JAX on the positions of the
numbers. Operations without real numbers (random bits, indices) are also run by JAX.
"""

import contextvars
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.core
import jax.numpy as jnp
import mpmath as mp
import numpy as np

DIGITS = 50
_WORK = 1e6  # the allowed work in units of about a microsecond, the smallest cost of one number in one operation
_A_MOVE = 500.0
_left: contextvars.ContextVar[list[float]] = contextvars.ContextVar("_left")
Values = Any  # for real numbers, an np.ndarray of mpmath numbers; otherwise an array of a type of JAX


class Unsupported(Exception):
    """Raised for an operation that is not implemented in many digits, or for too many operations."""


def _sign(x: Any) -> Any:
    return mp.mpf(0) if x == 0 else mp.sign(x)


_ONE: dict[str, Callable[[Any], Any]] = {
    "neg": operator.neg, "abs": abs, "sign": _sign, "exp": mp.exp, "exp2": lambda x: mp.mpf(2) ** x, "log": mp.log,
    "log1p": mp.log1p, "expm1": mp.expm1, "sin": mp.sin, "cos": mp.cos, "tan": mp.tan, "sinh": mp.sinh,
    "cosh": mp.cosh, "tanh": mp.tanh, "asin": mp.asin, "acos": mp.acos, "atan": mp.atan, "asinh": mp.asinh,
    "acosh": mp.acosh, "atanh": mp.atanh, "sqrt": mp.sqrt, "rsqrt": lambda x: 1 / mp.sqrt(x), "cbrt": mp.cbrt,
    "erf": mp.erf, "erfc": mp.erfc, "erf_inv": mp.erfinv, "lgamma": mp.loggamma, "digamma": mp.digamma,
    "logistic": lambda x: 1 / (1 + mp.exp(-x)), "floor": mp.floor, "ceil": mp.ceil, "square": lambda x: x * x,
    "is_finite": mp.isfinite, "copy": lambda x: x, "stop_gradient": lambda x: x, "real": lambda x: x,
    "reduce_precision": lambda x: x, "optimization_barrier": lambda x: x,
}  # fmt: skip
_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "max": max, "min": min,
    "pow": mp.power, "atan2": mp.atan2, "add_any": operator.add, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_TRUTH = {"eq", "ne", "lt", "le", "gt", "ge", "is_finite"}
_FOLDED: dict[str, Callable[..., Any]] = {
    "reduce_sum": np.add, "reduce_prod": np.multiply, "reduce_max": np.maximum, "reduce_min": np.minimum,
    "cumsum": np.add, "cumprod": np.multiply, "cummax": np.maximum, "cummin": np.minimum,
}  # fmt: skip
_MOVES = (
    "broadcast_in_dim", "reshape", "squeeze", "transpose", "concatenate", "slice", "rev", "dynamic_slice", "gather",
    "expand_dims", "pad", "dynamic_update_slice", "scatter", "select_n", "split",
)  # fmt: skip
_CALLS = ("pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "remat", "checkpoint",
          "custom_vjp_call_jaxpr")  # fmt: skip


def precisely(function: Callable[..., Any], *arguments: Any) -> list[np.ndarray]:
    """The leaves of a function's value, computed in 50 digits and rounded at the end.

    Args:
        function: a function of JAX arrays.
        *arguments: the arguments of the function; their numbers are treated as exact.

    Raises:
        Unsupported: for an operation without an implementation in many digits, or for too many operations.

    >>> with jax.enable_x64(True):
    ...     round(float(precisely(lambda x: (x + 1e-17) - x, jnp.asarray(1.0))[0]) / 1e-17, 6)
    1.0
    """
    closed = jax.make_jaxpr(function)(*arguments)
    _left.set([_WORK])
    with mp.workdps(DIGITS):
        leaves = [_exact(leaf) for leaf in jax.tree.leaves(arguments)]
        found = _run(closed.jaxpr, [_exact(value) for value in closed.consts], leaves)
        return [np.vectorize(float, otypes=[float])(value) if _real(value) else np.asarray(value) for value in found]


def _real(value: Values) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object


def _exact(value: Any) -> Values:
    if hasattr(value, "dtype") and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "c":
        raise Unsupported("complex numbers")
    return _each(lambda x: mp.mpf(float(x)), array) if array.dtype.kind == "f" else array


def _each(function: Callable[..., Any], *arrays: Any, truth: bool = False) -> np.ndarray:
    with np.errstate(all="ignore"):
        found = np.frompyfunc(function, len(arrays), 1)(*arrays)
    return np.asarray(found, dtype=bool if truth else object)


def _run(jaxpr: Any, consts: list[Values], arguments: list[Values]) -> list[Values]:
    known: dict[Any, Values] = {}
    known.update(zip(jaxpr.constvars, consts, strict=True))
    known.update(zip(jaxpr.invars, arguments, strict=True))
    read = lambda atom: _exact(atom.val) if isinstance(atom, jax.extend.core.Literal) else known[atom]
    for equation in jaxpr.eqns:
        values = _applied(equation, [read(atom) for atom in equation.invars])
        known.update(zip(equation.outvars, values, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _applied(equation: Any, values: list[Values]) -> list[Values]:
    name, params = equation.primitive.name, equation.params
    _left.get()[0] -= sum(value.size for value in values if _real(value)) + (_A_MOVE if name in _MOVES else 50.0)
    if _left.get()[0] < 0:
        raise Unsupported(f"more than {_WORK:g} operations")
    if name in _CALLS:
        inner = params.get("jaxpr") or params.get("call_jaxpr") or params.get("fun_jaxpr")
        return _run(getattr(inner, "jaxpr", inner), [_exact(value) for value in getattr(inner, "consts", ())], values)
    if name in ("while", "cond", "scan", "custom_linear_solve"):
        return _CONTROL[name](params, values)
    if not any(_real(value) for value in values):
        found = equation.primitive.bind(*map(jnp.asarray, values) if _plain(values) else values, **params)
        return [_exact(value) for value in (found if equation.primitive.multiple_results else [found])]
    if name in _ONE:
        return [_each(_ONE[name], values[0], truth=name in _TRUTH)]
    if name in _TWO:
        return [_each(_TWO[name], *values, truth=name in _TRUTH)]
    if name in _MOVES:
        return _moved(equation, values)
    return [_other(name, params, values)] if name not in _MANY else _MANY[name](params, values)


def _plain(values: list[Values]) -> bool:
    return not any(hasattr(v, "dtype") and jnp.issubdtype(v.dtype, jax.dtypes.prng_key) for v in values)


def _moved(equation: Any, values: list[Values]) -> list[Values]:
    """Let JAX compute the new positions of the numbers. Then move the numbers to these positions."""
    pool, places = [], []
    for value in values:
        if _real(value):
            start = sum(len(own) for own in pool)
            pool.append(value.ravel())
            places.append(jnp.asarray(start + np.arange(value.size).reshape(value.shape)))
        else:
            places.append(jnp.asarray(value))
    params = dict(equation.params)
    if "FILL" in str(params.get("mode", "")).upper():  # a number that JAX would fill in has no old position
        params["mode"] = jax.lax.GatherScatterMode.CLIP
    found = equation.primitive.bind(*places, **params)
    everything = np.concatenate(pool)
    return [
        np.asarray(everything[np.asarray(own)], dtype=object)
        for own in (found if equation.primitive.multiple_results else [found])
    ]


def _other(name: str, params: dict[str, Any], values: list[Values]) -> Values:
    own = values[0]
    if name == "integer_pow":
        return _each(lambda x: x ** params["y"], own)
    if name == "clamp":
        return _each(lambda low, x, high: min(max(x, low), high), *values)
    if name == "round":
        return _each(mp.nint, own)
    if name == "convert_element_type":
        if np.issubdtype(params["new_dtype"], np.floating):
            return own
        return np.vectorize(int, otypes=[np.int64])(own).astype(params["new_dtype"])
    if name in ("argmax", "argmin"):
        return getattr(np, name)(own, axis=params["axes"][0]).astype(params["index_dtype"])
    if name in _FOLDED and name.startswith("reduce"):
        return np.asarray(_FOLDED[name].reduce(own, axis=tuple(params["axes"])), dtype=object)  # pyright: ignore
    if name in _FOLDED:
        flipped = np.flip(own, params["axis"]) if params["reverse"] else own
        found = _FOLDED[name].accumulate(flipped, axis=params["axis"])  # pyright: ignore
        return np.flip(found, params["axis"]) if params["reverse"] else found
    if name == "dot_general":
        return _contracted(params["dimension_numbers"], *values)
    if name == "cholesky":
        return _matrices(lambda a: _array(mp.cholesky(_matrix(a))), own)
    if name == "triangular_solve":
        return _triangular(params, *values)
    raise Unsupported(name)


def _contracted(numbers: Any, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A product of two arrays that is summed over some axes and batched over others."""
    (left, right), (left_batch, right_batch) = numbers
    free = lambda array, *used: [i for i in range(array.ndim) if not any(i in own for own in used)]
    own, other = free(a, left, left_batch), free(b, right, right_batch)
    a, b = (np.asarray(_exact(value) if not _real(value) else value) for value in (a, b))
    first = a.transpose([*left_batch, *own, *left])
    second = b.transpose([*right_batch, *right, *other])
    batch, size = first.shape[: len(left_batch)], int(np.prod([a.shape[i] for i in left], dtype=int))
    flat = (
        first.reshape(int(np.prod(batch, dtype=int)), -1, size),
        second.reshape(int(np.prod(batch, dtype=int)), size, -1),
    )
    found = np.stack([np.asarray(x.dot(y), dtype=object) for x, y in zip(*flat, strict=True)])
    return found.reshape(*batch, *(a.shape[i] for i in own), *(b.shape[i] for i in other))


def _matrix(a: np.ndarray) -> Any:
    return mp.matrix([list(row) for row in a])


def _array(a: Any) -> np.ndarray:
    return np.array([[a[i, j] for j in range(a.cols)] for i in range(a.rows)], dtype=object)


def _matrices(function: Callable[[np.ndarray], np.ndarray], stack: np.ndarray) -> np.ndarray:
    flat = stack.reshape(-1, *stack.shape[-2:])
    found = np.stack([function(one) for one in flat])
    return found.reshape(*stack.shape[:-2], *found.shape[1:])


def _triangular(params: dict[str, Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if a.ndim != 2 or params["transpose_a"] not in (False, 0) or params.get("conjugate_a"):
        if params["transpose_a"] in (False, 0):
            raise Unsupported("triangular systems in stacks")
        a, params = a.T, {**params, "lower": not params["lower"]}
    if not params["left_side"]:
        return _triangular(
            {**params, "left_side": True, "transpose_a": False, "lower": not params["lower"]}, a.T, b.T
        ).T
    n, x = len(a), np.array(b, dtype=object)
    for i in range(n) if params["lower"] else reversed(range(n)):
        others = range(i) if params["lower"] else range(i + 1, n)
        for j in others:
            x[i] = x[i] - a[i, j] * x[j]
        x[i] = x[i] if params["unit_diagonal"] else x[i] / a[i, i]
    return x


def _eigh(params: dict[str, Any], values: list[Values]) -> list[Values]:
    """Eigenvectors and ascending eigenvalues of symmetric matrices, in the order in which JAX gives them."""
    own = values[0]
    pairs = []
    for one in own.reshape(-1, *own.shape[-2:]):
        w, v = mp.eigsy(_matrix((one + one.T) / 2))
        order = sorted(range(len(w)), key=lambda i: w[i])
        pairs.append((_array(v)[:, order], np.array([w[i] for i in order], dtype=object)))
    vectors, numbers = (np.stack(part) for part in zip(*pairs, strict=True))
    return [vectors.reshape(own.shape), numbers.reshape(own.shape[:-1])]


def _svd(params: dict[str, Any], values: list[Values]) -> list[Values]:
    own = values[0]
    if params["full_matrices"] and own.shape[-1] != own.shape[-2] and params["compute_uv"]:
        raise Unsupported("full singular vectors of a rectangular matrix")
    found = []
    for one in own.reshape(-1, *own.shape[-2:]):
        turned = one.shape[0] < one.shape[1]
        u, s, v = mp.svd_r(_matrix(one.T if turned else one))
        u, v = _array(u), _array(v)
        u, v = (v.T, u.T) if turned else (u, v)
        found.append((np.array(list(s), dtype=object), u, v))
    parts = [np.stack(part) for part in zip(*found, strict=True)]
    parts = [part.reshape(*own.shape[:-2], *part.shape[1:]) for part in parts]
    return parts if params["compute_uv"] else parts[:1]


def _sort(params: dict[str, Any], values: list[Values]) -> list[Values]:
    if params["num_keys"] != 1:
        raise Unsupported("sort by several keys")
    order = np.argsort(values[0], axis=params["dimension"], kind="stable")
    return [np.take_along_axis(value, order, params["dimension"]) for value in values]


_MANY = {"eigh": _eigh, "svd": _svd, "sort": _sort}


def _while(params: dict[str, Any], values: list[Values]) -> list[Values]:
    split = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    cond, body, carry = values[: split[0]], values[split[0] : split[1]], values[split[1] :]
    run = lambda closed, given: _run(closed.jaxpr, [_exact(value) for value in closed.consts], given)
    while bool(run(params["cond_jaxpr"], [*cond, *carry])[0]):
        carry = run(params["body_jaxpr"], [*body, *carry])
    return carry


def _cond(params: dict[str, Any], values: list[Values]) -> list[Values]:
    branch = params["branches"][int(np.asarray(values[0]))]
    return _run(branch.jaxpr, [_exact(value) for value in branch.consts], values[1:])


def _scan(params: dict[str, Any], values: list[Values]) -> list[Values]:
    consts, carried = params["num_consts"], params["num_carry"]
    fixed, carry, over = values[:consts], values[consts : consts + carried], values[consts + carried :]
    closed, rows = params["jaxpr"], []
    order = range(params["length"])
    for i in reversed(order) if params["reverse"] else order:
        found = _run(
            closed.jaxpr, [_exact(v) for v in closed.consts], [*fixed, *carry, *(np.asarray(v[i]) for v in over)]
        )
        carry = found[:carried]
        rows.append(found[carried:])
    rows = rows[::-1] if params["reverse"] else rows
    return [*carry, *(np.stack([np.asarray(row[k]) for row in rows]) for k in range(len(rows[0]) if rows else 0))]


def _solve(params: dict[str, Any], values: list[Values]) -> list[Values]:
    """Solve a linear system with the solver that the JAX operation contains."""
    lengths, jaxprs = params["const_lengths"], params["jaxprs"]
    counts = [lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve]
    start = sum(counts[:2])
    solve = jaxprs.solve
    given = [*values[start : start + counts[2]], *values[sum(counts) :]]
    return _run(solve.jaxpr, [_exact(value) for value in solve.consts], given)


def _lu(params: dict[str, Any], values: list[Values]) -> list[Values]:
    """LU factorisation of one matrix with partial pivoting: both factors in one array, exchanges, and permutation."""
    a = np.array(values[0], dtype=object)
    if a.ndim != 2:
        raise Unsupported("LU of stacks")
    order, swaps = np.arange(len(a)), []
    for k in range(min(a.shape)):
        at = k + int(np.argmax(np.abs(a[k:, k])))
        swaps.append(at)
        a[[k, at]], order[[k, at]] = a[[at, k]], order[[at, k]]
        if a[k, k] != 0:
            a[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
            a[k + 1 :, k + 1 :] = a[k + 1 :, k + 1 :] - np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return [a, np.asarray(swaps, np.int32), order.astype(np.int32)]


_MANY["lu"] = _lu
_CONTROL = {"while": _while, "cond": _cond, "scan": _scan, "custom_linear_solve": _solve}
