"""What `import uLib` does, and does not."""

import re

import uLib


def test_import_opens_no_driver_and_imports_no_numpy(python):
    done = python(
        """
import sys
import uLib, uLib.device
assert "numpy" not in sys.modules
maps = open("/proc/self/maps").read()
assert "libcuda" not in maps and "fakecuda" not in maps
print(uLib.VoxImage(4, 4, 4).GetValue(7))
maps = open("/proc/self/maps").read()
assert "libcuda" not in maps and "fakecuda" not in maps
assert "numpy" not in sys.modules
"""
    )
    assert done.stdout == "0.0\n"


def test_version_and_exports():
    assert re.fullmatch(r"\d+\.\d+\.\d+", uLib.__version__)
    for name in uLib.__all__:
        assert hasattr(uLib, name), name


def test_public_classes_are_documented_and_named_after_the_package():
    for name in uLib.__all__:
        value = getattr(uLib, name)
        if isinstance(value, type):
            assert value.__doc__, name
            assert value.__module__ == "uLib", name


def test_import_is_small(python):
    """No module that costs more than the package itself is imported with it."""
    done = python(
        """
import sys
before = set(sys.modules)
import uLib
new = {name.split(".")[0] for name in set(sys.modules) - before}
print(sorted(new - {"uLib"}))
"""
    )
    assert set(eval(done.stdout)) <= {
        "__future__",
        "importlib",
        "typing",
        "types",
        "functools",
        "collections",
        "re",
        "copyreg",
        "contextlib",
        "operator",
        "keyword",
        "heapq",
        "itertools",
        "reprlib",
        "enum",
        "warnings",
        "_collections",
        "_functools",
        "_operator",
        "_typing",
        "_sre",
    }
