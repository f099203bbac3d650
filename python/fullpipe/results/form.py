"""Comparison of the contents of a JSON file with a type, such as those of :mod:`fullpipe.base.metrics`."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    NoneType: "null",
}


def mismatch(value: object, of: Any, place: str = "") -> str | None:  # noqa: ANN401  (a type)
    """Returns the first difference between a value and a type; None if the value has the type.

    Types are those of JSON: texts, numbers, True and False, None, lists, dicts with texts as keys, TypedDicts, unions
    of them, and literals. A TypedDict may have more entries.

    Args:
        value: The value.
        of: The type.
        place: The place of the value in its file.
    """
    if of is Any:
        return None
    if is_typeddict(of):
        return _of_object(value, of, place)
    origin, inner = get_origin(of), get_args(of)
    if origin in (Union, UnionType):
        return _of_union(value, inner, place)
    if origin is Literal:
        return None if value in inner else _not(place, f"one of {', '.join(map(repr, inner))}")
    if origin is list:
        if not isinstance(value, list):
            return _not(place, "a list")
        found = (mismatch(each, inner[0], f"{place}[{at}]") for at, each in enumerate(value))
        return next(filter(None, found), None)
    if origin is dict:
        if not isinstance(value, dict):
            return _not(place, "an object")
        found = (mismatch(each, inner[1], _entry(place, key)) for key, each in value.items())
        return next(filter(None, found), None)
    fits = isinstance(value, (int, float) if of is float else of)
    if isinstance(value, bool) and of is not bool:
        fits = False
    return None if fits else _not(place, _WORDS[of])


def _of_object(value: object, of: Any, place: str) -> str | None:  # noqa: ANN401
    if not isinstance(value, dict):
        return _not(place, "an object")
    for key, kind in get_type_hints(of, include_extras=True).items():
        optional = key in of.__optional_keys__ or get_origin(kind) is NotRequired
        if key in value:
            of_entry = get_args(kind)[0] if get_origin(kind) is NotRequired else kind
            if problem := mismatch(value[key], of_entry, _entry(place, key)):
                return problem
        elif not optional:
            return f"no entry {_entry(place, key)}"
    return None


def _of_union(value: object, kinds: tuple[Any, ...], place: str) -> str | None:
    if not all(mismatch(value, kind, place) for kind in kinds):
        return None
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        return mismatch(value, others[0], place)
    return _not(place, " or ".join(_WORDS.get(kind, "a list or an object") for kind in others))


def _entry(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _not(place: str, what: str) -> str:
    return f"{place or 'its content'} is not {what}"
