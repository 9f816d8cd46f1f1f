"""The command ``gcompose``, started as a user starts it."""

import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import uLib
from uLib.scene import Scene

# As installed, and where that is not on the path as the module behind it.
FOUND = shutil.which("gcompose", path=str(pathlib.Path(sys.executable).parent))
COMMAND = [FOUND] if FOUND else [sys.executable, "-m", "gcompose"]


def gcompose(*arguments, **environment):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], env=os.environ | environment, capture_output=True, text=True, timeout=120
    )


RECIPE = """
def run(ctx):
    image = ctx['phantom']
    factor = ctx.parameter('factor', 2.0)
    print('printed', image.GetDataLocation())
    for x, total in enumerate(image.Sum(axis=(0, 1))):
        ctx.profile.AddRow([x, factor * total])
        ctx.progress(x + 1, 12)
    ctx.log('filled', ctx.profile.Rows)
    ctx.refresh()
"""
VALUES = np.arange(12 * 3 * 2, dtype=np.float32)
# Of slices of constant x, doubled.
TOTALS = [2 * sum(range(x, 72, 12)) for x in range(12)]


@pytest.fixture
def path(tmp_path):
    scene = Scene()
    scene["phantom"] = uLib.VoxImage(12, 3, 2)
    scene["phantom"].SetValues(VALUES)
    scene["profile"] = uLib.EventTable("slice,total")
    scene["sum.slices = all"] = uLib.Recipe(RECIPE)
    for found in scene.values():
        found.PreferredDevice = "Device"
    scene.save(tmp_path / "scene.gcx")
    return tmp_path / "scene.gcx"


def add(path, name, source):
    scene = Scene.load(path)
    scene[name] = uLib.Recipe(source)
    scene.save(path)


def test_it_shows_the_scene_and_runs_it(path, mode):
    there = "Host (" if mode == "nodriver" else "Device: "
    done = gcompose(path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{path}: 3 objects"
    assert lines[1].split(",")[0] == uLib.device.describe().split(",")[0]
    assert lines[2].split() == ["name", "class", "size", "prefers", "location"]
    assert lines[3].startswith("phantom           VoxImage    12 x 3 x 2 voxels   Device   ")
    assert lines[4].startswith("profile           EventTable  0 rows x 2 columns  Device   ")
    assert lines[5] == (
        "sum.slices = all  Recipe      10 lines            Device   Host (these recipes cannot be copied to a device)"
    )
    assert lines[6:8] == ["", "running 'sum.slices = all'"]
    assert lines[8].startswith(f"printed {there}")
    assert lines[9] == "filled 12"
    assert re.fullmatch(r"done in \d+\.\d\d s; where everything is:", lines[10])
    assert lines[11].startswith(f"  phantom           {there}") and lines[12].startswith(f"  profile           {there}")
    assert lines[14:16] == ["profile: 12 rows", "  slice  total"]
    assert lines[16:26] == [f"  {x:>5}  {total:>5}" for x, total in enumerate(TOTALS[:10])]
    assert lines[26:] == ["  ... 2 more"]


def test_json_is_one_document_and_nothing_else(path):
    done = gcompose("--json", path)
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["gcompose"] == uLib.__version__
    assert [found["name"] for found in document["objects"]] == ["phantom", "profile", "sum.slices = all"]
    assert document["objects"][0] | {"location": ""} == {
        "name": "phantom",
        "class": "VoxImage",
        "size": "12 x 3 x 2 voxels",
        "preferred": "Device",
        "location": "",
    }
    (run,) = document["runs"]
    assert (run["recipe"], run["error"]) == ("sum.slices = all", None)
    assert run["output"].startswith("printed ") and run["output"].endswith("filled 12\n")
    assert run["objects"][1]["size"] == "12 rows x 2 columns"
    assert run["tables"] == {"profile": {"columns": ["slice", "total"], "rows": [[x, total] for x, total in enumerate(TOTALS)]}}


def test_json_has_words_for_numbers_that_are_not_finite(path):
    add(path, "nan", "def run(ctx):\n    ctx.profile.Clear()\n    ctx.profile.AddRow([float('nan'), float('-inf')])\n")
    document = json.loads(gcompose("--json", "--recipe", "nan", path).stdout, parse_constant=pytest.fail)
    assert document["runs"][0]["tables"]["profile"]["rows"] == [["nan", "-inf"]]


def test_no_run_runs_nothing(path, tmp_path):
    add(path, "trap", f"open({str(tmp_path / 'ran')!r}, 'w')\ndef run(ctx): pass\n")
    done = gcompose("--no-run", path)
    assert done.returncode == 0
    assert "running" not in done.stdout and len(done.stdout.splitlines()) == 7
    assert not (tmp_path / "ran").exists()
    assert gcompose("--recipe", "trap", path).returncode == 0
    assert (tmp_path / "ran").exists()


def test_recipes_by_name_in_the_order_given(path):
    add(path, "first", "def run(ctx): print('1')\n")
    add(path, "second", "def run(ctx): print('2')\n")
    done = gcompose("--recipe", "second", "--recipe", "first", path)
    assert re.findall(r"^running .*|^[12]$", done.stdout, re.MULTILINE) == ["running 'second'", "2", "running 'first'", "1"]
    done = gcompose("--recipe", "third", path)
    assert done.returncode == 2
    assert "there is no recipe 'third'; those of the scene: 'sum.slices = all', 'first', 'second'" in done.stderr


def test_set_changes_properties_and_parameters(path, tmp_path):
    out = tmp_path / "out.gcx"
    done = gcompose(
        "--set", "phantom.PreferredDevice=Host", "--set", "phantom.Spacing=0.5, 1, 2", "--set", "phantom.DataOrder=ZYX",
        "--set", "profile.Columns=x,sum=1", "--set", "sum.slices = all.factor=1e1", "--save", out, path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"saved {out}"
    scene = Scene.load(out)
    assert (scene["phantom"].PreferredDevice, scene["phantom"].GetSpacing()) == ("Host", (0.5, 1, 2))
    assert (scene["profile"].Columns, scene["profile"].Rows) == ("x,sum=1", 12)
    assert [total for _, total in scene["profile"]] == [5 * total for total in TOTALS]
    assert scene["sum.slices = all"].Parameters == {"factor": "1e1"}


def test_a_parameter_that_nobody_asks_for_is_told(path):
    done = gcompose("--set", "sum.slices = all.fctor=3", path)
    assert done.returncode == 0
    assert done.stderr == "gcompose: --set: recipe 'sum.slices = all' did not ask for a parameter 'fctor'\n"


def test_names_do_not_command_the_terminal(path):
    scene = Scene.load(path)
    scene["a\x9b31mb\u202e"] = table = uLib.EventTable("c\x85d")
    table.AddRow([1])
    scene["fill"] = uLib.Recipe("def run(ctx):\n    ctx['a\x9b31mb\u202e'].AddRow([2])\n")
    scene.save(path)
    said = gcompose("--recipe", "fill", path).stdout
    assert said.replace("\n", "").isprintable() and "a\\x9b31mb\\u202e: 2 rows\n  c\\x85d\n" in said


def test_it_can_be_started_as_a_module(path):
    command = [sys.executable, "-m", "uLib.scene.console"]
    assert subprocess.run([*command, "--no-run", path], capture_output=True).returncode == 0
    done = subprocess.run([*command, "--set", "nobody.X=1", path], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("gcompose: --set: ")


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("phantom", "is not of the form OBJECT.PROPERTY=VALUE"),
        ("phantom.PreferredDevice", "is not of the form"),
        ("nobody.X=1", "begins with the name of no object; those of the scene: 'phantom', 'profile', 'sum.slices = all'"),
        ("phantom.Nothing=1", "a VoxImage has no property 'Nothing' to set; only DataOrder, Dims, Origin, Position, PreferredDevice"),
        ("phantom.PreferredDevice=Moon", "Moon"),
        ("phantom.Spacing=one", "Spacing is 'one', which is no tuple"),
        ("phantom.Spacing=1,2", "--set: 'phantom.Spacing=1,2'"),
    ],
)
def test_settings_that_cannot_be(path, setting, message):
    done = gcompose("--set", setting, path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gcompose: --set: ") and message in done.stderr


def test_device_says_what_everything_prefers(path, tmp_path):
    out = tmp_path / "out.gcx"
    done = gcompose("--device", "host", "--no-run", "--save", out, path)
    assert done.returncode == 0
    assert {found.PreferredDevice for found in Scene.load(out).values()} == {"Host"}
    gcompose("--device", "device", "--no-run", "--save", out, out)
    assert {found.PreferredDevice for found in Scene.load(out).values()} == {"Device"}


def test_export_writes_images_and_tables(path, tmp_path):
    npy, csv = tmp_path / "a=b.npy", tmp_path / "profile.csv"
    done = gcompose("--export", f"phantom={npy}", "--export", f"profile={csv}", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == [f"exported phantom to {npy}", f"exported profile to {csv}"]
    np.testing.assert_array_equal(np.load(npy), VALUES.reshape(2, 3, 12))
    assert np.loadtxt(csv, delimiter=",", skiprows=1).tolist() == [[x, total] for x, total in enumerate(TOTALS)]


IMAGES = ".vti .vtk .mha .mhd .nrrd .nhdr .npy .npz"
TABLES = ".csv .tsv .parquet"


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--export", "phantom", "'phantom' is not of the form NAME=FILE"),
        ("--export", "phantom=", "'phantom=' is not of the form NAME=FILE"),
        ("--export", "phantom=x.gif", f"'phantom=x.gif' ends in no format for class VoxImage; only {IMAGES}"),
        ("--export", "phantom=x.csv", f"'phantom=x.csv' ends in no format for class VoxImage; only {IMAGES}"),
        ("--export", "profile=npy", f"'profile=npy' ends in no format for class EventTable; only {TABLES}"),
        ("--export", "makes=x.npy", "'makes=x.npy': a Recipe cannot be exported; only images and tables can be"),
        (
            "--export",
            "mad=x.csv",
            "'mad=x.csv' begins with the name of no object; those of the scene: 'phantom', 'profile', 'sum.slices = all', 'makes'",
        ),
        ("--export", "made=x.y", f"'made=x.y' ends in no format; images end in {IMAGES}, tables in {TABLES}"),
        ("--export", "made=no/x.csv", "'made=no/x.csv': there is no folder 'no'; only one that exists can be written to"),
        ("--export", "phantom=no/x.npy", "'phantom=no/x.npy': there is no folder 'no'; only one that exists can be written to"),
        ("--save", "no/x.gcx", "'no/x.gcx': there is no folder 'no'; only one that exists can be written to"),
        ("--save", "scene.gcx/x", "'scene.gcx/x': there is no folder 'scene.gcx'; only one that exists can be written to"),
        ("--save", ".", "'.' is a folder; only a file can be written"),
        ("--save", "", "'' is no name; only that of a file can be written to"),
        ("--html", "no/x.html", "'no/x.html': there is no folder 'no'; only one that exists can be written to"),
        ("--html", "new/", "'new/' is a folder; only a file can be written"),
        ("--html", "/dev/null", "'/dev/null' is no regular file; only a file can be written"),
        ("--png", "no/x", "'no/x': there is no folder 'no'; only one that exists can be written to"),
        ("--png", "scene.gcx", "'scene.gcx' is a file; only a folder can have the pictures"),
        ("--png", "", "'' is no name; only that of a folder can have the pictures"),
    ],
)
def test_what_cannot_be_written_is_said_before_a_recipe_is_run(path, option, value, message):
    add(path, "makes", "import uLib\nopen('ran', 'w')\ndef run(ctx): ctx.made = uLib.EventTable('a')\n")
    before = sorted(found.name for found in path.parent.iterdir())
    done = subprocess.run([*COMMAND, option, value, path.name], cwd=path.parent, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gcompose: {option}: {message}\n")
    assert sorted(found.name for found in path.parent.iterdir()) == before


def test_what_recipes_make_can_be_exported(path, tmp_path):
    add(path, "makes", "import uLib\ndef run(ctx): ctx['a=b'] = uLib.EventTable(ctx.parameter('columns', 'x'), rows=1)\n")
    done = gcompose("--recipe", "makes", "--export", f"a=b={tmp_path}/x=y.CSV", path)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "x=y.CSV").read_text() == "x\n0.0\n"
    # By a recipe that is not run it is not.
    done = gcompose("--no-run", "--export", f"a=b={tmp_path}/x=y.CSV", path)
    assert done.returncode == 2 and "begins with the name of no object" in done.stderr


def test_the_formats_that_are_told_are_those_there_are(path, tmp_path):
    image, table = uLib.VoxImage(2, 1, 1), uLib.EventTable("a", rows=1)
    for objects, write, ends in (image, uLib.io.write_image, IMAGES), (table, uLib.io.write_table, TABLES):
        with pytest.raises(ValueError, match="ends in") as found:
            write(objects, tmp_path / "x.gif")
        known = set(str(found.value).split("ends in ")[1].split(", ")) - {".nii", ".nii.gz"}
        assert known == set(ends.split())
        for end in known:
            write(objects, tmp_path / f"x{end}")


def test_png_draws_images_and_tables(path, tmp_path):
    add(path, "more", "import uLib\ndef run(ctx):\n    for name in 'a/b', 'A:B', '..':\n        ctx[name] = uLib.VoxImage(2, 2, 2)\n")
    done = gcompose("--png", tmp_path / "pictures", "--json", path)
    assert done.returncode == 0, done.stderr
    written = {str(found) for found in (tmp_path / "pictures").iterdir()}
    drawn = json.loads(done.stdout)["drawn"]
    assert {file for files in drawn.values() for file in files} == written and len(written) == 4 * 7 + 1
    assert drawn["profile"] == [str(tmp_path / "pictures" / "profile.png")]
    assert all(pathlib.Path(file).read_bytes().startswith(b"\x89PNG\r\n") for file in written)


def test_html_is_a_page_of_the_scene_and_the_log(path, tmp_path):
    page = tmp_path / "report.html"
    for form in [], ["--json"]:
        done = gcompose("--html", page, *form, path)
        assert done.returncode == 0, done.stderr
        text = page.read_text()
        assert text.startswith("<!DOCTYPE html>") and "<title>scene.gcx</title>" in text
        assert "sum.slices = all" in text and "def run(ctx):" in text
        assert "<pre>filled 12</pre>" in text and text.index("running ") < text.index("<pre>filled 12</pre>")
    assert json.loads(done.stdout)["reported"] == str(page)
    add(path, "bad", FAILS.replace("helper(0)", "print('<b>'); helper(0)"))
    assert gcompose("--html", page, "--recipe", "bad", path).returncode == 1
    text = page.read_text()
    assert "<pre>&lt;b&gt;</pre>" in text and "ZeroDivisionError: division by zero</pre>" in text


FAILS = """
def run(ctx):
    ctx.profile.AddRow([1, 2])
    helper(0)

def helper(zero):
    return 1 / zero
"""


def test_a_recipe_that_fails(path, tmp_path):
    add(path, "bad", FAILS)
    add(path, "after", "def run(ctx): print('not reached')\n")
    out = tmp_path / "out.gcx"
    done = gcompose("--recipe", "bad", "--recipe", "after", "--save", out, path)
    assert done.returncode == 1
    assert done.stderr == (
        "gcompose: recipe 'bad', line 7: ZeroDivisionError: division by zero\n"
        "    7 | return 1 / zero\n"
        "gcompose: nothing was saved, exported or drawn, since a recipe failed\n"
    )
    # What it did stays visible.
    assert "failed in " in done.stdout and "profile: 1 row\n  slice  total\n      1      2\n" in done.stdout
    assert "not reached" not in done.stdout and not out.exists()
    done = gcompose("--recipe", "bad", path, ULIB_TRACEBACK="1")
    assert "File \"<recipe 'bad'>\", line 7, in helper\n    return 1 / zero" in done.stderr
    document = json.loads(gcompose("--recipe", "bad", "--json", path).stdout)
    assert document["runs"][0]["error"] == {"line": 7, "message": "ZeroDivisionError: division by zero"}
    assert document["runs"][0]["tables"]["profile"]["rows"] == [[1, 2]]


def test_documents_that_cannot_be_opened(tmp_path):
    done = gcompose(tmp_path / "nowhere.gcx")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"gcompose: reading {tmp_path}/nowhere.gcx: open: No such file or directory (os error 2)\n"
    (tmp_path / "bad.gcx").write_text("<gcx version='9'></gcx>")
    done = gcompose("--json", tmp_path / "bad.gcx")
    assert (done.returncode, done.stdout) == (1, "")
    assert "bad.gcx" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--nonsense", "x.gcx"], ["--device", "moon", "x.gcx"], ["a.gcx", "b.gcx"]])
def test_usage(arguments):
    done = gcompose(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: gcompose")


def test_help_and_version():
    done = gcompose("--help")
    assert done.returncode == 0 and "examples:\n  gcompose scene.gcx" in done.stdout
    for option in "--no-run", "--recipe", "--set", "--save", "--device", "--export", "--png", "--html", "--json", "--version":
        assert option in done.stdout
    assert gcompose("--version").stdout == f"gcompose {uLib.__version__}\n"


def test_a_reader_that_goes_away_is_no_error(path):
    for source in "def run(ctx):\n    while True: print('x' * 1000)\n", "def run(ctx): pass\n" * 2:
        add(path, "talks", source)
        child = subprocess.Popen(
            [*COMMAND, "--recipe", "talks", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        child.stdout.close()
        assert child.stderr.read() == ""
        assert child.wait(60) == 141


def test_control_c(path):
    add(path, "long", "import time\ndef run(ctx):\n    print('started', flush=True)\n    time.sleep(60)\n")
    child = subprocess.Popen(
        [*COMMAND, "--recipe", "long", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default_interrupts
    )
    while child.stdout.readline() != "started\n":
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert (child.returncode, said) == (130, "gcompose: interrupted\n")


def test_control_c_while_it_starts(path, tmp_path):
    # A module that everything waits for.
    (tmp_path / "logging.py").write_text("import os, time\nos.write(1, b'waits\\n')\ntime.sleep(60)\n")
    child = subprocess.Popen(
        [*COMMAND, path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_interrupts,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])},
    )
    assert child.stdout.readline() == "waits\n"
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert (child.returncode, said) == (130, "gcompose: interrupted\n")


def default_interrupts():
    # A suite started in the background inherits an ignored one.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def on_a_terminal(arguments, **environment):
    """What the command writes to a terminal, on both streams."""
    child, terminal = pty.fork()
    if child == 0:
        plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        os.execve(COMMAND[0], [*COMMAND, *map(str, arguments)], plain | {"TERM": "xterm"} | environment)
    said = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            part = os.read(terminal, 4096)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return said.decode()


def test_colours_and_progress_are_for_terminals(path):
    said = on_a_terminal([path])
    assert "\x1b[33mHost (" in said
    assert re.search(r"\r\x1b\[K\[#+ *\] +\d+%  \d+ of 12", said)
    # The line is gone before the next text.
    assert re.search(r"\r\x1b\[Kfilled 12", said)
    assert "\x1b[3" not in on_a_terminal([path], NO_COLOR="1")
    assert "\x1b" not in gcompose(path).stdout


def test_it_starts_quickly(path, python):
    # Loaded machines take longer; the best of several is the program's own time.
    best = min(first_line(path) for _ in range(7))
    assert best < 0.25, f"{best:.3f} s to the first line"
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "uLib.scene.console", "--no-run", path], capture_output=True, text=True
    ).stderr
    assert "numpy" not in loaded and "uLib.scene" in loaded
    # Nothing comes before it can be interrupted.
    modules = "import sys; before = set(sys.modules); import gcompose; print(*sorted(set(sys.modules) - before))"
    assert set(python(modules).stdout.split()) <= {"__future__", "gcompose", "signal", "enum", "types", "functools", "collections", "keyword",
        "operator", "reprlib", "_functools", "_collections", "_operator", "itertools"}  # fmt: skip


def first_line(path):
    start = time.perf_counter()
    with subprocess.Popen([*COMMAND, "--no-run", path], stdout=subprocess.PIPE, env=os.environ | {"ULIB_CUDA_DRIVER": "none"}) as child:
        assert child.stdout.readline().endswith(b": 3 objects\n")
        took = time.perf_counter() - start
        child.stdout.read()
    return took
