"""Mako, of whose templates programs make kernels: its names, where it is installed."""

from __future__ import annotations

import importlib
from typing import Any

try:
    template = importlib.import_module("mako.template")
    lookup = importlib.import_module("mako.lookup")
except ImportError as error:
    raise ImportError("uLib.cuda._mymako: mako is not installed; `pip install mako` brings it", name="mako") from error

Template = template.Template
TemplateLookup = lookup.TemplateLookup


def __getattr__(name: str) -> Any:
    return getattr(importlib.import_module("mako"), name)
