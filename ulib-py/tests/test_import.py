"""What `import uLib` does, and does not."""

import re

import pytest
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


LOGGING_NEEDS = {
    "_ast",
    "_opcode",
    "_string",
    "_weakrefset",
    "ast",
    "atexit",
    "dis",
    "inspect",
    "linecache",
    "logging",
    "opcode",
    "string",
    "textwrap",
    "threading",
    "token",
    "tokenize",
    "traceback",
    "weakref",
}


def test_import_is_small(python):
    """No module outside the standard library is imported with it, and of that only ``logging`` and what it needs."""
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
        *LOGGING_NEEDS,
    }


AT_EXIT = [
    "image.GetValue(1)",
    "image.GetValue(1, 1, 1)",
    "image.GetValue((1, 1, 1))",
    "image.GetValue([1, 1, 1])",
    "image.GetValue('x')",
    "image.SetValue(1, 2.0)",
    "image.SetValue((0, 1, 0), 2.0)",
    "image.SetSpacing((1, 2, 3))",
    "image.Find([0.5, 0.5, 0.5])",
    "image.Sum(), image.Fill(1), image.Scale(2)",
    "image.Sum(axis=(0, 1))",
    "image.GetValues()",
    "image.SetValues([1.0] * 8)",
    "image.SetPreferredDevice('Device'), image.GetDataLocation(), image.Update(), image.ReleaseDevice()",
    "image.DeviceView()",
    "image.__dlpack__()",
    "image.__cuda_array_interface__",
    "image.__array_interface__",
    "memoryview(image)",
    "image.HostView().Close()",
    "image.__reduce__()",
    "image.Grid(), image.Count, image.Shape, image.Strides, repr(image)",
    "list(image)",
    "floats.Extend(range(3)), floats.Extend([1, 2]), floats.Append(3), floats.GetValue(0)",
    "floats.SetValues(floats)",
    "table.AddRow([1, 2]), table.SetRow(0, (1, 2)), table.GetRow(0), table.AddRows([[1, 2]])",
    "lines.Append((1, 2, 3), [1, 2, 3]), lines.GetLine(0)",
    "muons.Append(((1, 2, 3), (1, 2, 3)), ((1, 2, 3), (1, 2, 3))), muons.GetMuon(0), muons.Momentum.Fill(1)",
    "events.Append('a', 'b'), events.GetEvent(0), list(events), events.__reduce__()",
    "multi.SetActive(0, 0), multi.GetValue([0, 0, 0])",
]


@pytest.mark.parametrize("when", ["module", "modules"])
def test_everything_can_be_called_while_the_interpreter_ends(python, when):
    """An exception is fine then (modules are gone); a panic or a crash is not."""
    done = python(
        f"""
import sys
import uLib

class Last:
    def __init__(self):
        self.made = dict(
            image=uLib.VoxImage(2, 2, 2), multi=uLib.MultiVoxImage(2, 2, 2), floats=uLib.FloatCollection(3),
            table=uLib.EventTable("a,b", 1), lines=uLib.LineCollection(1), muons=uLib.MuonScatterCollection(1),
            events=uLib.GeantEventCollection(),
        )
        self.calls = [(text, compile(text, text, "eval")) for text in {AT_EXIT!r}]
        self.write = sys.__stdout__.write
        self.flush = sys.__stdout__.flush

    def __del__(self, Exception=Exception, eval=eval, type=type):
        for text, code in self.calls:
            try:
                eval(code, {{"__builtins__": {{"range": range, "memoryview": memoryview, "list": list, "repr": repr}}}}, self.made)
            except Exception:
                pass
        self.write("done\\n")
        self.flush()

last = Last()
if {when!r} == "modules":
    sys.modules["kept to the end"] = last
    del last
"""
    )
    assert done.stdout == "done\n" and "panic" not in done.stderr, done.stderr


SUBINTERPRETERS = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def create():
    try:
        return interpreters.create("legacy")  # the kind that any extension module may be imported in
    except TypeError:
        return interpreters.create(isolated=False)

TRY = '''
try:
    import uLib
except ImportError as error:
    assert "interpreter" in str(error), error
else:
    keep = [uLib.FloatCollection(3), uLib.VoxImage(2, 2, 2).Grid()]
    raise AssertionError("imported")
'''

def run(which, code):
    failed = interpreters.run_string(which, code)
    assert failed is None, failed
"""


@pytest.mark.parametrize("main", ["never", "before", "after"])
def test_a_subinterpreter_is_refused_cleanly(python, main):
    done = python(
        SUBINTERPRETERS
        + f"""
if {main!r} == "before":
    import uLib
several = [create() for _ in range(3)]
for one in several:
    run(one, TRY)
    run(one, TRY)
if {main!r} != "never":
    import uLib
    floats = uLib.FloatCollection([1, 2])
    assert floats.Sum() == 3 and uLib.VoxImage(2, 2, 2).Grid().Shape == (2, 2, 2)
interpreters.destroy(several[0])
if {main!r} != "never":
    assert floats.GetValue(1) == 2 and uLib.VoxImage(2, 2, 2).Sum() == 0
print("end", flush=True)
""",
        timeout=30,
    )
    assert done.stdout == "end\n"
