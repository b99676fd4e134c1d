"""Constant answers of claims, such as `trivial = 1.0`.

Such attributes mean the same as methods that return these values.
"""

import ast
import copy
import math

VALUES = ("predict", "trivial", "condition", "settings")
"""Names of the methods that a class may replace by a value."""
_FILLED = {"zeros": 0.0, "ones": 1.0}


def with_values(part: ast.ClassDef) -> ast.ClassDef:
    """The class with its constant answers as attributes. These attributes come last, in the order of their names."""
    values = {name: value for each in part.body if (name := _asked(each)) and (value := _value(each)) is not None}
    if not values:
        return part
    kept = [each for each in part.body if _asked(each) not in values]
    told = [ast.Assign([ast.Name(name, ast.Store())], values[name]) for name in sorted(values)]
    whole = copy.copy(part)
    whole.body = [*kept, *map(ast.fix_missing_locations, told)]
    return whole


def _asked(statement: ast.stmt) -> str:
    """The name in `VALUES` that a statement defines; empty if the statement does not define such a name."""
    name = ""
    if isinstance(statement, ast.FunctionDef):
        name = statement.name
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        name = getattr(statement.targets[0], "id", "")
    return name if name in VALUES else ""


def _value(statement: ast.stmt) -> ast.expr | None:
    """The value that a statement defines as an answer; None if the answer depends on the method's arguments."""
    if isinstance(statement, ast.Assign):
        return None if _is_words(statement.value) else _number(statement.value)
    if not isinstance(statement, ast.FunctionDef) or statement.decorator_list:
        return None
    *_, last = body = [each for each in statement.body if not _is_text(each)] or [None]
    given = {each.arg for each in statement.args.args}
    if len(body) != 1 or not isinstance(last, ast.Return) or last.value is None:
        return None
    if any(isinstance(part, ast.Name) and part.id in given for part in ast.walk(last.value)):
        return None
    return _number(last.value)


def _number(value: ast.expr) -> ast.expr:
    """The numbers in an expression, without a call that makes an array, because the engine itself makes the array."""
    folded = _folded(value)
    if folded is None:
        return value.args[0] if _made_by(value, "asarray", "array") else value  # pyright: ignore[reportAttributeAccessIssue]
    return ast.Constant(folded)  # pyright: ignore[reportArgumentType]  # a constant may be a tuple


def _folded(value: ast.expr) -> float | tuple[float, ...] | None:
    """The numbers that an expression writes out as constants; None if the expression contains anything else."""
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        inner = _folded(value.operand)
        return -inner if isinstance(inner, float) else None
    if _made_by(value, "asarray", "array"):
        return _folded(value.args[0])  # pyright: ignore[reportAttributeAccessIssue]
    if _made_by(value, *_FILLED):
        try:
            shape = ast.literal_eval(value.args[0])  # pyright: ignore[reportAttributeAccessIssue]
        except ValueError:
            return None
        filled = _FILLED[value.func.attr]  # pyright: ignore[reportAttributeAccessIssue]
        return filled if shape == () else (filled,) * (shape if isinstance(shape, int) else math.prod(shape))
    try:
        told = ast.literal_eval(value)
    except ValueError:
        return None
    if isinstance(told, (tuple, list)) and told and all(isinstance(each, (int, float)) for each in told):
        return tuple(map(float, told))
    return float(told) if isinstance(told, (int, float)) else None


def _made_by(value: ast.expr, *names: str) -> bool:
    """Whether an expression calls one of the given array functions with a single argument."""
    if not isinstance(value, ast.Call) or len(value.args) != 1 or value.keywords:
        return False
    return isinstance(value.func, ast.Attribute) and value.func.attr in names


def _is_words(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
