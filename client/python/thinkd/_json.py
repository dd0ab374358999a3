"""JSON without rounding: a number that no `int` or `float` holds digit by digit is read as a `Decimal`."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_DIGITS = 4_000  # Python refuses to convert longer texts to `int`


def _integer(digits: str) -> Any:
    return int(digits) if len(digits) <= _DIGITS else Decimal(digits)


def _fraction(digits: str) -> Any:
    number = float(digits)
    try:
        exact = Decimal(digits)
    except InvalidOperation:  # an exponent of more than 18 digits
        return number
    return number if math.isfinite(number) and Decimal(repr(number)) == exact else exact


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_fraction, parse_constant=_constant)


def read(text: str) -> Any:
    """Reads JSON; a `ValueError` says that it is none."""
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error


def write(value: object) -> str:
    """Writes JSON. A `Decimal` is its digits; numbers that JSON has not (`nan`) are a `ValueError`."""
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is no JSON number")
        return str(value)
    if isinstance(value, Mapping):
        if wrong := [name for name in value if not isinstance(name, str)]:
            raise TypeError(f"the member {wrong[0]!r} has a name that is no text")
        return "{" + ",".join(f"{json.dumps(name)}:{write(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(write, value)) + "]"
    return json.dumps(value, allow_nan=False)
