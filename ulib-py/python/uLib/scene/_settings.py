"""What ``--set`` of ``gcompose`` means."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _ulib
from ._context import converted

if TYPE_CHECKING:
    from ._scene import Scene


class Usage(Exception):
    """The command line asks for what cannot be."""


def apply(scene: Scene, setting: str) -> tuple[str, str] | None:
    """Does what ``object.Property=value`` says; for a recipe also ``recipe.parameter=value``, which is returned."""
    name, rest = after_name(scene, setting, ".", "--set", "OBJECT.PROPERTY=VALUE")
    name_of_property, equals, text = rest.partition("=")
    if not equals or not name_of_property:
        raise Usage(f"--set: {setting!r} is not of the form OBJECT.PROPERTY=VALUE")
    found = scene[name]
    properties = _properties(found)
    try:
        if name_of_property not in properties:
            if isinstance(found, _ulib.Recipe):
                found.SetParameter(name_of_property, text)
                return name, name_of_property
            known = ", ".join(sorted(properties))
            raise Usage(f"--set: {_ulib.class_of(found)} has no property {name_of_property!r} to set; only {known}")
        getter, setter = properties[name_of_property]
        setter(converted(text, getter(), name_of_property))
    except (TypeError, ValueError, AttributeError) as error:
        raise Usage(f"--set: {setting!r}: {error}") from error
    return None


def _properties(found: Any) -> dict[str, tuple[Any, Any]]:
    """The properties of an object that can be set to a text or numbers: how to ask and how to set each."""
    fixed = {"Columns", "PreferredDevice", "Source"}
    known = {
        name: (lambda name=name: getattr(found, name), lambda value, name=name: setattr(found, name, value))
        for name in fixed
        if hasattr(type(found), name)
    }
    for name in ("Dims", "Spacing", "Origin", "Position", "DataOrder"):
        getter, setter = getattr(found, f"Get{name}", None), getattr(found, f"Set{name}", None)
        if getter is not None and setter is not None:
            known[name] = (getter, (lambda sides, setter=setter: setter(*sides)) if name == "Dims" else setter)
    return known


def after_name(scene: Scene, text: str, mark: str, option: str, form: str) -> tuple[str, str]:
    """The name of an object at the start of ``text`` and what comes after ``mark``. Names may hold marks; the longest counts."""
    names = [name for name in scene if text.startswith(name + mark)]
    if names:
        name = max(names, key=len)
        return name, text[len(name) + len(mark) :]
    if mark not in text:
        raise Usage(f"{option}: {text!r} is not of the form {form}")
    known = ", ".join(map(repr, scene)) or "none"
    raise Usage(f"{option}: {text!r} begins with the name of no object; those of the scene: {known}")
