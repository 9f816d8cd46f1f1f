"""Scenes: objects under names, saved as ``.gcx`` documents, and the recipes that work on them.

``Scene.load`` opens a document and runs nothing of what is inside; ``Scene.run`` runs the recipes. ``docs/scenes.md`` has the
whole story, ``docs/gcx.md`` the format.
"""

from __future__ import annotations

from .._ulib import Proxy, Recipe, unwrap
from ._context import Context
from ._run import RecipeError
from ._scene import Scene

__all__ = ["Context", "Proxy", "Recipe", "RecipeError", "Scene", "unwrap"]
