# SPDX-License-Identifier: Apache-2.0
"""Arguments as the core wants them: checked, in UTF-8, in micro- and milliseconds."""
from __future__ import annotations

import base64
import binascii
from datetime import datetime, timedelta, timezone
from typing import Optional, Union

from waypost.errors import ArgumentError, RangeError

#: A length of time: a timedelta, or a number of seconds.
Duration = Union[timedelta, float]
#: A payload: text, or bytes that are UTF-8.
Payload = Union[str, bytes, bytearray, memoryview]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_MAX_MS = 2**63 - 1
#: The end of the year 9999, the last that a datetime can have.
TIME_US_MAX = 253402300799999999


def encode(name: str, value: object) -> bytes:
    """A payload-like text as UTF-8."""
    if isinstance(value, str):
        try:
            return value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ArgumentError(
                f"{name} holds a lone surrogate at {error.start}: it has no UTF-8 form"
            ) from None
    if isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    raise ArgumentError(f"{name} must be str or bytes, not {type(value).__name__}")


def name_text(name: str, value: object) -> bytes:
    """A name as UTF-8: a C text, so without NUL."""
    if not isinstance(value, str):
        raise ArgumentError(f"{name} must be str, not {type(value).__name__}")
    encoded = encode(name, value)
    if b"\0" in encoded:
        raise ArgumentError(f"{name} holds a NUL character at byte {encoded.index(0)}")
    return encoded


def optional_name(name: str, value: Optional[str]) -> Optional[bytes]:
    return None if value is None else name_text(name, value)


def callback(name: str, value: object) -> None:
    if not callable(value):
        raise ArgumentError(f"{name} must be callable, not {type(value).__name__}")


def instance(name: str, value: object, kind: type) -> None:
    """One of a class of ours."""
    if not isinstance(value, kind):
        raise ArgumentError(f"{name} must be a {kind.__name__}, not {type(value).__name__}")


def integer(name: str, value: object) -> int:
    """A whole number that C has room for."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentError(f"{name} must be an int, not {type(value).__name__}")
    if not -(2**63) <= value < 2**63:
        raise RangeError(f"{name} is {value}: it does not fit 64 bits")
    return value


def to_us(name: str, value: object) -> int:
    """An aware datetime as microseconds since 1970."""
    if not isinstance(value, datetime):
        raise ArgumentError(f"{name} must be a datetime, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise ArgumentError(f"{name} is a naive datetime: give it a time zone")
    return (value - EPOCH) // _MICROSECOND


def from_us(value: int) -> datetime:
    """Microseconds since 1970 as an aware datetime in UTC; past the year 9999, the end of it."""
    return EPOCH + timedelta(microseconds=min(value, TIME_US_MAX))


def to_ms(name: str, value: object) -> int:
    """A duration as milliseconds, rounded up so that nothing is early."""
    if isinstance(value, timedelta):
        whole, rest = divmod(value, _MILLISECOND)
        return whole + 1 if rest else whole
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(
            f"{name} must be a timedelta or a number of seconds, not {type(value).__name__}"
        )
    if not -_MAX_MS < value * 1000 < _MAX_MS:
        raise ArgumentError(f"{name} is {value}: not a usable number of seconds")
    ms = int(value * 1000)
    return ms + 1 if ms < value * 1000 else ms


def optional_ms(name: str, value: Optional[Duration]) -> Optional[int]:
    return None if value is None else to_ms(name, value)


def encode_base64(data: Union[bytes, bytearray, memoryview]) -> str:
    """Binary data as text, to be a payload."""
    return base64.b64encode(data).decode("ascii")


def decode_base64(text: Union[str, bytes]) -> bytes:
    """The binary data that encode_base64() made a text of."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ArgumentError(f"not base64: {error}") from None
