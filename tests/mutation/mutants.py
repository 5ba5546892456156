"""What is changed in the code: one small change at a time, made in the syntax tree.

Left alone by rule: words for people (a string with a space in it, and text that is formatted with one), docstrings,
types, `assert`, `__all__`, and what only a type checker or the memory sees (`frozen`, `slots`, `cast`).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

UNCHANGED = -1
_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_COUNTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.BitOr: ast.BitAnd}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any", "and_": "or_", "or_": "and_"}
_TERMS = {"and_", "or_", "where", "order_by"}  # calls whose arguments can be left out one by one
_UNSEEN = {"frozen", "slots", "check_same_thread", "description"}
_UNSEEN_CALLS = {"cast", "TypeVar", "getLogger"}
_UNSEEN_DECORATORS = {"abstractmethod", "overload", "dataclass"}
_MOVED = {ast.Continue: ast.Break, ast.Break: ast.Continue}


@dataclass(frozen=True)
class Change:
    """`words` say what is done; `make` does it, in place. `lines` are of its statement, `names` what that defines."""

    line: int
    words: str
    lines: range
    names: frozenset[str]
    function: frozenset[str]  # in which it is, for one that only runs at import
    make: Callable[[], None]


@dataclass(frozen=True)
class _Place:
    node: Any
    put: Callable[[Any], None]
    statement: ast.stmt
    names: frozenset[str]  # empty inside functions
    function: frozenset[str]


def changes(tree: ast.Module) -> Iterator[Change]:
    """Every change of one module, in an order that depends on its text alone. Make at most one of them."""
    for place in _inside(tree, tree.body[0], frozenset()):
        for words, make in _of(place):
            first, last = place.statement.lineno, place.statement.end_lineno or place.statement.lineno
            if hasattr(place.statement, "body"):
                last = max(first, getattr(place.node, "end_lineno", first))
            yield Change(place.node.lineno, words, range(first, last + 1), place.names, place.function, make)


def mutated(source: str, path: str, number: int) -> CodeType:
    """The module with the change of this number, or as it is."""
    tree = ast.parse(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # `is` with a literal
        return compile(_changed(tree, number) if number != UNCHANGED else tree, path, "exec")


def _changed(tree: ast.Module, number: int) -> ast.Module:
    for count, change in enumerate(changes(tree)):
        if count == number:
            change.make()
            return ast.fix_missing_locations(tree)
    raise IndexError(number)


def _inside(node: Any, statement: ast.stmt, names: frozenset[str], within: bool = False) -> Iterator[_Place]:
    for field, value in ast.iter_fields(node):
        if field in {"annotation", "returns", "type_params"}:
            continue
        for position, each in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(each, ast.AST) or _left_alone(each):
                continue
            here = each if isinstance(each, ast.stmt) else statement
            defined = names if within else names | _defined(each)
            if hasattr(each, "lineno"):
                put = _putter(node, field, position if isinstance(value, list) else None)
                yield _Place(each, put, here, frozenset() if within else defined, defined if within else frozenset())
            body = isinstance(each, ast.FunctionDef)
            if body:
                yield from _of_function(each, here, defined, within)
            else:
                yield from _inside(each, here, defined, within)


def _of_function(node: Any, here: ast.stmt, names: frozenset[str], within: bool) -> Iterator[_Place]:
    """Decorators and defaults are run at import, the body when it is called."""
    for part, inside in (("decorator_list", within), ("args", within), ("body", True)):
        value = getattr(node, part)
        alone = ast.Module(body=[], type_ignores=[])
        setattr(alone, part, value)
        alone._fields = (part,)  # type: ignore[misc]
        yield from _inside(alone, here, names, inside)


def _defined(node: Any) -> frozenset[str]:
    targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
    named = {each.id for each in targets if isinstance(each, ast.Name)}
    return frozenset(named | ({node.name} if isinstance(node, ast.FunctionDef | ast.ClassDef) else set()))


def _putter(parent: Any, field: str, position: int | None) -> Callable[[Any], None]:
    def put(new: Any) -> None:
        if position is None:
            setattr(parent, field, new)
        elif new is None:
            del getattr(parent, field)[position]
        else:
            getattr(parent, field)[position] = new

    return put


def _left_alone(node: Any) -> bool:
    if isinstance(node, ast.keyword) and node.arg in _UNSEEN:
        return True
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring, or `...`
    if isinstance(node, ast.Assign) and any(getattr(each, "id", "") == "__all__" for each in node.targets):
        return True
    if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Call) and _called(node) in _UNSEEN_CALLS


def _called(node: Any) -> str:
    function = getattr(node, "func", node)
    return getattr(function, "attr", getattr(function, "id", ""))


def _of(place: _Place) -> Iterator[tuple[str, Callable[[], None]]]:
    for kind in (_constant, _comparison, _logic, _name, _call, _statement, _decorators):
        yield from kind(place)


def _replaced(place: _Place, new: Any, words: str) -> tuple[str, Callable[[], None]]:
    return words, lambda: place.put(ast.copy_location(new, place.node) if new is not None else None)


def _constant(place: _Place) -> Iterator[Any]:
    node = place.node
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(each.value) for each in node.values if isinstance(each, ast.Constant))
        if " " not in text:
            yield _replaced(place, ast.JoinedStr([ast.Constant("XX"), *node.values]), "f'…' -> f'XX…'")
    if isinstance(node, ast.Constant):
        for each in _others(node.value):
            yield _replaced(place, ast.Constant(each), f"{node.value!r} -> {each!r}")


def _others(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value - 1]
    if isinstance(value, str):
        return [] if " " in value else [value + "XX"]
    return ["XX"] if value is None else []


def _comparison(place: _Place) -> Iterator[Any]:
    node = place.node
    for position, operator in enumerate(node.ops if isinstance(node, ast.Compare) else ()):
        for new in _COMPARED[type(operator)]:
            words = f"{type(operator).__name__} -> {new.__name__} in `{ast.unparse(node)}`"
            yield words, lambda position=position, new=new: node.ops.__setitem__(position, new())


def _logic(place: _Place) -> Iterator[Any]:
    node = place.node
    if isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield _replaced(place, ast.BoolOp(other, node.values), f"and <-> or in `{ast.unparse(node)}`")
        for each in node.values:
            left = [other for other in node.values if other is not each]
            new = ast.BoolOp(node.op, left) if len(left) > 1 else left[0]
            yield _replaced(place, new, f"without `{ast.unparse(each)}`")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _replaced(place, node.operand, f"without not: `{ast.unparse(node)}`")
    if isinstance(node, ast.BinOp) and type(node.op) in _COUNTED:
        new = ast.BinOp(node.left, _COUNTED[type(node.op)](), node.right)
        yield _replaced(place, new, f"`{ast.unparse(node)}` -> `{ast.unparse(new)}`")
    test = getattr(node, "test", None)
    if isinstance(test, ast.Name | ast.Call | ast.Attribute | ast.BoolOp):
        negated = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
        yield f"if not `{ast.unparse(test)}`", lambda: setattr(node, "test", negated)


def _name(place: _Place) -> Iterator[Any]:
    node = place.node
    if isinstance(node, ast.Name) and node.id in _NAMES:
        yield _replaced(place, ast.Name(_NAMES[node.id], ast.Load()), f"{node.id} -> {_NAMES[node.id]}")


def _call(place: _Place) -> Iterator[Any]:
    node = place.node
    if not isinstance(node, ast.Call):
        return
    for keyword in node.keywords:
        if keyword.arg is not None and keyword.arg not in _UNSEEN:
            words = f"without `{keyword.arg}=` in `{_called(node)}`"
            yield words, lambda keyword=keyword: node.keywords.remove(keyword)
    if _called(node) in _TERMS and len(node.args) > 1:
        for argument in node.args:
            yield f"without `{ast.unparse(argument)}`", lambda argument=argument: node.args.remove(argument)


def _statement(place: _Place) -> Iterator[Any]:
    node = place.node
    gone = isinstance(node, ast.AugAssign | ast.Raise) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    )
    if isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple):
        gone = True
    if gone:
        yield _replaced(place, ast.Pass(), f"without `{ast.unparse(node).splitlines()[0][:100]}`")
    if isinstance(node, ast.Return) and not isinstance(node.value, ast.Constant | None):
        yield _replaced(place, ast.Return(ast.Constant(None)), f"`{ast.unparse(node)[:100]}` -> return None")
    if type(node) in _MOVED:
        yield _replaced(place, _MOVED[type(node)](), f"{type(node).__name__} -> {_MOVED[type(node)].__name__}")


def _decorators(place: _Place) -> Iterator[Any]:
    node = place.node
    for each in list(getattr(node, "decorator_list", ())):
        if _called(each) not in _UNSEEN_DECORATORS:
            yield f"without @{ast.unparse(each)}", lambda each=each: node.decorator_list.remove(each)
