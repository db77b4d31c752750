"""Values as TOML: numbers keep all digits, names all characters."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .errors import BadOption


def toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        # As JSON but for what lies beyond sixteen bits, which JSON may write in halves, and the one control character it leaves.
        return json.dumps(os.fspath(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, np.ndarray):
        return toml(value.tolist())
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml(str(key))} = {toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray, memoryview)):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    remedy = "give numbers, texts, and lists and mappings of them"
    raise BadOption(f"{value!r} can't be part of a file: {remedy}", {"option": None, "value": repr(value), "remedy": remedy})
