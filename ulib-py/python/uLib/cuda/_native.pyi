"""The native part of uLib.cuda: all of its parts by one name. Each part is a module with a stub of its own."""

from ._native_blocks import *
from ._native_contexts import *
from ._native_memory import *
from ._native_modules import *
from ._native_textures import *
