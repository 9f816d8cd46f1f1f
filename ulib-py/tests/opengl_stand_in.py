"""A stand-in for the library of OpenGL, on which the software driver's part of it rests: contexts, and which objects there are."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

# Numbers up to 9 are buffers, 10 to 19 textures.
EGL = r"""
#include <string.h>
static __thread void *current;
static unsigned destroyed;
void *eglGetCurrentContext(void) { return current; }
void stand_in(int on, unsigned gone) { current = on ? &current : 0; destroyed = gone; }
static unsigned char is_buffer(unsigned name) { return name && name < 10 && name != destroyed; }
static unsigned char is_texture(unsigned name) { return name >= 10 && name < 20 && name != destroyed; }
void (*eglGetProcAddress(const char *name))(void)
{
    return (void (*)(void))(strcmp(name, "glIsBuffer") ? is_texture : is_buffer);
}
"""


def build(folder: Path) -> Path | None:
    """The library, compiled into a folder; None without a C compiler. ``stand_in(on, gone)`` of it makes a context current on the
    calling thread, or none, and destroys one object."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    (folder / "egl.c").write_text(EGL)
    path = folder / "libEGL.so.1"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-Wl,-soname,libEGL.so.1", "-o", str(path), str(folder / "egl.c")], check=True
    )
    return path
