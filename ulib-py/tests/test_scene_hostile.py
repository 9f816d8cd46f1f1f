"""Recipes, proxies and surroundings that try to break a scene, its documents and the command ``gcompose``."""

import builtins
import copy
import enum
import io
import json
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
import uLib
from uLib.scene import Context, Proxy, RecipeError, Scene, unwrap

FOUND = shutil.which("gcompose", path=str(pathlib.Path(sys.executable).parent))
COMMAND = [FOUND] if FOUND else [sys.executable, "-m", "gcompose"]


def saved(folder, source="def run(ctx): pass", **others):
    scene = Scene()
    scene["phantom"] = uLib.VoxImage(3, 2, 2)
    scene["it"] = uLib.Recipe(source)
    scene.update(others)
    scene.save(folder / "scene.gcx")
    return folder / "scene.gcx"


def gcompose(*arguments, stdout=subprocess.PIPE, cwd=None, **environment):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=os.environ | environment,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        timeout=120,
    )


# What a recipe does, and what is said of it.
FAILURES = {
    "class Own(BaseException): pass\ndef run(ctx): raise Own('x')": "line 2: Own: x",
    "def run(ctx): raise GeneratorExit": "line 1: GeneratorExit",
    "class Mute(Exception):\n  def __str__(self): return 5\ndef run(ctx): raise Mute": "line 3: Mute",
    "class Mute(Exception):\n  def __str__(self): raise SystemExit(3)\ndef run(ctx): raise Mute": "line 3: Mute",
    "def run(ctx):\n  error = ValueError('x')\n  error.__notes__ = 5\n  raise error": "line 4: ValueError",
    "async def run(ctx): 1 / 0": "run(ctx) only made a coroutine, which nothing runs",
    "def run(ctx):\n  1 / 0\n  yield": "run(ctx) only made a generator, which nothing runs",
    "async def run(ctx):\n  yield": "run(ctx) only made an async_generator, which nothing runs",
}


@pytest.mark.parametrize("source", FAILURES)
def test_however_a_recipe_fails_it_is_an_error_of_the_recipe(source, tmp_path, recwarn):
    with pytest.raises(RecipeError) as found:
        Scene({"it": uLib.Recipe(source)}).run("it")
    assert str(found.value).startswith("recipe 'it'") and str(found.value).endswith(FAILURES[source])
    assert not recwarn.list
    done = gcompose("--json", saved(tmp_path, source))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert done.stderr.startswith(f"gcompose: {found.value}\n")
    assert json.loads(done.stdout)["runs"][0]["error"]["message"] in str(found.value)


# What a recipe replaces that all programs rely on, and what is said of it where that is an error.
REPLACED = {
    "__builtins__ = {}\ndef run(ctx): print(1)": "line 2: NameError: name 'print' is not defined (the recipe replaced __builtins__)",
    "__builtins__ = 5\ndef run(ctx): print(1)": "line 2: TypeError: 'int' object is not subscriptable (the recipe replaced __builtins__)",
    "print = None\ndef run(ctx): print(1)": "line 2: TypeError: 'NoneType' object is not callable",
    "import builtins\ndef run(ctx):\n  builtins.print = None\n  ctx.log('works')": None,
    "import builtins\ndef run(ctx):\n  builtins.__import__ = None\n  import csv": (
        "line 4: TypeError: 'NoneType' object is not callable (the recipe replaced builtins.__import__)"
    ),
    "import builtins\nbuiltins.str = builtins.isinstance = 5\ndef run(ctx): 1 / 0": (
        "line 3: ZeroDivisionError: division by zero (the recipe replaced builtins.isinstance, builtins.str)"
    ),
    "import builtins\nvars(builtins).clear()\ndef run(ctx): 1 / 0": "more)",
    "import sys\ndef run(ctx): sys.stderr = sys.stdout = None\n": None,
    "import sys\ndef run(ctx):\n  sys.stderr = sys.stdout\n  1 / 0": "line 4: ZeroDivisionError: division by zero",
}


@pytest.mark.parametrize("source", REPLACED)
def test_whatever_a_recipe_replaces_gcompose_goes_on(source, tmp_path):
    path, message = saved(tmp_path, source, after=uLib.Recipe("def run(ctx): print('next', str(5))")), REPLACED[source]
    for option in ["--save", str(tmp_path / "out.gcx")], ["--json"]:
        done = gcompose(*option, path)
        assert "Traceback" not in done.stderr
        if message is None:
            assert (done.returncode, done.stderr) == (0, "") and "next 5" in done.stdout
        else:
            first = done.stderr.splitlines()[0]
            assert done.returncode == 1 and first.startswith("gcompose: recipe 'it', line ") and first.endswith(message)
        if option == ["--json"]:
            assert json.loads(done.stdout)["runs"]


def test_what_a_recipe_replaced_is_put_back():
    before = dict(vars(builtins))
    Scene({"it": uLib.Recipe("import builtins\ndef run(ctx):\n  builtins.len = None\n  del builtins.sorted\n")}).run()
    assert dict(vars(builtins)) == before and len(sorted([2, 1])) == 2


OUTPUT = """
import os, subprocess, sys
def run(ctx):
    out = sys.stdout
    print("text", end=" ")
    out.buffer.write("ä".encode())
    out.buffer.write(b"\\xff\\n")
    print(out.encoding, out.errors, out.isatty(), out.writable(), out.closed, out.name, out.mode)
    out.buffer.close()
    out.buffer.writelines([b"1\\n", memoryview(b"2\\n")])
    out.buffer.flush()
    subprocess.run(["echo", "child"], stdout=out)
    os.write(out.fileno(), b"raw\\n")
"""


def test_the_standard_output_of_a_recipe_has_what_others_have(tmp_path):
    path, page = saved(tmp_path, OUTPUT), tmp_path / "page.html"
    said = ["utf-8 backslashreplace False True False <stdout> w", "1", "2"]
    done = gcompose("--json", "--html", page, path, PYTHONIOENCODING="utf-8")
    assert (done.returncode, done.stderr) == (0, "child\nraw\n")
    assert json.loads(done.stdout)["runs"][0]["output"].splitlines() == ["text ä\\xff", *said]
    assert "<pre>text ä\\xff</pre>" in page.read_text(encoding="utf-8")
    done = subprocess.run([*COMMAND, "--html", page, path], capture_output=True, env=os.environ | {"PYTHONIOENCODING": "utf-8"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\n".join([b"text \xc3\xa4\xff", *map(str.encode, said), b"child", b"raw", b"done"]) in done.stdout
    assert "<pre>text ä\\xff</pre>" in page.read_text(encoding="utf-8")


def test_halves_of_letters_are_no_names(tmp_path):
    table = uLib.EventTable("a")
    for make in lambda name: Scene({name: table}), lambda name: Scene().__setitem__(name, table):
        with pytest.raises(ValueError, match=r"^scene: the name 'a\\udc80' has halves of letters in it"):
            make("a\udc80")
    for make in lambda text: uLib.Recipe("", {text: 1}), lambda text: uLib.Recipe("").SetParameter("a", text):
        with pytest.raises(ValueError, match=r"^Recipe: .* is 'a\\udc80', with halves of letters in it$"):
            make("a\udc80")
    with pytest.raises(KeyError, match=r"no object 'a\\udc80'|no object 'a\\\\udc80'"):
        Scene({"a": table})["a\udc80"]
    path = saved(tmp_path, "import uLib\ndef run(ctx):\n  print('\\udc80')\n  ctx['\\udc80'] = uLib.EventTable('a')")
    for option in [], ["--json"]:
        done = gcompose(*option, path)
        message = "recipe 'it', line 4: ValueError: scene: the name '\\udc80' has halves of letters in it, which no file can hold"
        assert done.returncode == 1 and done.stderr.startswith(f"gcompose: {message}\n")
        assert "\\udc80\n" in (json.loads(done.stdout)["runs"][0]["output"] if option else done.stdout)
    odd = os.fsdecode(b"\x80")
    for options in ["--recipe", odd], ["--set", f"it.{odd}=1"], ["--set", f"it.a={odd}"], ["--export", f"{odd}=x.npy"]:
        done = gcompose(*options, path)
        assert done.returncode == 2 and done.stderr.startswith(f"gcompose: {options[0]}: ") and "\\udc80" in done.stderr


def test_lines_of_a_recipe_are_those_that_python_counts(tmp_path):
    source = "\ufefftext = 'a\u2028b\x85c\x0cd'\r\n\r\ndef run(ctx):\r\n    1 / 0\r\n"
    with pytest.raises(RecipeError) as found:
        Scene({"lines": uLib.Recipe(source)}).run()
    assert found.value.line == 4
    shown = "".join(traceback.format_exception(found.value))
    assert "1 / 0" in shown and "b\x85c" not in shown


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize("option", ["", "--json", "--help"])
def test_it_may_have_nothing_to_write_to(closed, option, tmp_path):
    saved(tmp_path, "def run(ctx):\n  print('said')\n  ctx['ran'] = ctx.phantom")
    command = " ".join(COMMAND)
    done = subprocess.run(
        ["sh", "-c", f"{command} {option} --save out.gcx scene.gcx {closed}"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert option == "--help" or "ran" in Scene.load(tmp_path / "out.gcx")


def test_letters_that_the_terminal_lacks_are_written_in_others(tmp_path):
    path = saved(tmp_path, "def run(ctx): print('ü→ \\ud800')", **{"größe ☃": uLib.EventTable("ä")})
    shutil.copy(path, os.fsencode(tmp_path) + b"/\xff.gcx")
    for name in (path, os.fsdecode(os.fsencode(tmp_path) + b"/\xff.gcx")):
        done = gcompose("--html", tmp_path / "page.html", name, PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (0, "")
        assert "\n\\xfc\\u2192 \\ud800\n" in done.stdout and "gr\\xf6\\xdfe \\u2603" in done.stdout
        assert "<pre>ü→ \\ud800</pre>" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_recipe_may_close_the_output_and_go_elsewhere(tmp_path):
    path = saved(tmp_path, f"import os, sys\ndef run(ctx):\n  print('said')\n  sys.stdout.close()\n  os.chdir({os.sep!r})")
    for option in ([], ["--json"]):
        done = gcompose(*option, "--save", "out.gcx", path.name, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        assert "said" in done.stdout and "out.gcx" in done.stdout
        (tmp_path / "out.gcx").unlink()


def test_programs_do_not_write_into_the_json_document(tmp_path):
    done = gcompose("--json", saved(tmp_path, "import os\ndef run(ctx):\n  os.system('echo shell')\n  os.write(1, b'raw')"))
    assert json.loads(done.stdout)["runs"][0]["error"] is None
    assert done.stderr == "shell\nraw"


def test_a_recipe_that_another_took_away_fails_like_one(tmp_path):
    path = saved(tmp_path, "def run(ctx): del ctx.scene['second']", second=uLib.Recipe("def run(ctx): pass"))
    done = gcompose("--json", path)
    assert (done.returncode, done.stderr) == (1, "gcompose: recipe 'second': an earlier recipe took it out of the scene\n")
    assert [run["error"] is None for run in json.loads(done.stdout)["runs"]] == [True, False]


def test_errors_of_files_name_the_file(tmp_path):
    path = saved(tmp_path)
    done = gcompose(path / "inside")
    assert (done.returncode, done.stderr) == (
        1,
        f"gcompose: reading {path}/inside: open: Not a directory (os error 20)\n",
    )
    done = gcompose("--export", "nonsense", "--save", tmp_path / "out.gcx", path)
    assert done.returncode == 2 and not (tmp_path / "out.gcx").exists()


def test_the_progress_line_takes_every_number_and_one_row(tmp_path):
    source = """
nan, inf = float('nan'), float('inf')
def run(ctx):
    for done, total in ((1, 0), (nan, 1), (1, nan), (inf, inf), (-1, 2), (5, 2), (10**999, 1.5), (None, 1), (0.1 + 0.2, 3)):
        ctx.progress(done, total)
"""
    path = saved(tmp_path, source)
    for term, columns in (("xterm", "20"), ("dumb", "80")):
        master, slave = pty.openpty()
        done = subprocess.run(
            [*COMMAND, str(path)], stdout=subprocess.DEVNULL, stderr=slave, env=os.environ | {"TERM": term, "COLUMNS": columns}
        )
        os.close(slave)
        said = b""
        try:
            while part := os.read(master, 4096):
                said += part
        except OSError:
            pass
        os.close(master)
        assert done.returncode == 0, said
        if term == "dumb":
            assert said == b""
        else:
            lines = said.split(b"\r\x1b[K")
            assert len(lines) > 5 and max(map(len, lines)) == 19


def test_pictures_of_all_objects_are_there(tmp_path):
    image, table = uLib.VoxImage(1, 1, 1), uLib.EventTable("x,y")
    table.AddRow([1, 2])
    images = ["a/b", "a_b", "A_B", "..", "n" * 300, "ñ" * 300, "ñ" * 300 + "m", "\u202e", "a"]
    tables = ["a-z", "a-maximum-z", "a 2"]
    scene = Scene([(name, image) for name in images] + [(name, table) for name in tables])
    scene.save(tmp_path / "scene.gcx")
    done = gcompose("--png", tmp_path / "out", tmp_path / "scene.gcx")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((tmp_path / "out").iterdir())) == 7 * len(images) + len(tables)


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("text", "default", "expected"),
    [
        ("5", b"x", None),
        ("1000000000000", b"x", None),
        ("b'yz'", b"x", b"yz"),
        ("[2, 3]", np.zeros(2), None),
        ("5", range(3), None),
        ("'abc'", [1], None),
        ("1, 2", [], [1, 2]),
        ("[1, 2]", (), (1, 2)),
        ("[1, 1]", {5}, {1}),
        ("2", np.float32(1), np.float32(2)),
        ("1", Colour.RED, Colour.RED),
        ("7", Colour.RED, None),
        ("-" * 100_000 + "1", [1], None),
        ("(" * 100_000, [1], None),
    ],
)
def test_a_parameter_is_of_the_type_of_its_default_or_an_error(text, default, expected):
    context = Context(Scene({"it": uLib.Recipe("", {"p": text})}), "it", print, None)
    if expected is None:
        with pytest.raises(ValueError, match="parameter 'p' is .*, which is no ") as found:
            context.parameter("p", default)
        assert len(str(found.value)) < 300
    else:
        found = context.parameter("p", default)
        assert found == expected and type(found) is type(default)


def test_proxies_that_stand_for_each_other_are_errors():
    objects = {}
    one, two = Proxy(objects, "two"), Proxy(objects, "one")
    objects["one"], objects["two"] = one, two
    for use in (repr, len, hash, unwrap, memoryview, np.asarray, lambda p: p.Fill(0), lambda p: p + 1, lambda p: Scene({"a": p})):
        with pytest.raises((ReferenceError, ValueError), match="a proxy itself|array"):
            use(one)
    with pytest.raises(ReferenceError):
        setattr(one, "PreferredDevice", "Host")


def test_copies_of_scenes_and_contexts_are_their_own():
    scene = Scene({"a": uLib.VoxImage(1, 1, 1), "it": uLib.Recipe("")})
    scene.on_refresh(print)
    other = copy.copy(scene)
    other["b"] = scene["a"]
    assert scene.names == ["a", "it"] and other["a"] is scene["a"] and other.listeners == ()
    with pytest.raises(AttributeError):
        copy.copy(Context(scene, "it", print, None))


def test_whoever_listens_twice_ends_each_once():
    scene, calls = Scene(), []
    stop, _ = scene.on_refresh(calls.append), scene.on_refresh(calls.append)
    stop()
    stop()
    scene.refresh()
    assert calls == [scene]


def test_errors_list_only_some_of_many_names():
    scene = Scene({f"n{i}": uLib.Recipe("") for i in range(60)})
    with pytest.raises(KeyError) as found:
        scene["x"]
    assert "n49 and 10 more" in str(found.value) and "n50" not in str(found.value)


def test_a_text_is_one_name(tmp_path):
    image = uLib.MultiVoxImage(1, 1, 1, channels=2, components=1)
    uLib.io.write_image(image, tmp_path / "two.vti", array=["ab", "cd"])
    assert uLib.io.read_multi_image(tmp_path / "two.vti", arrays="cd").GetDims() == (1, 1, 1)
    table = uLib.EventTable("a,b,ab")
    table.AddRow([1, 2, 3])
    uLib.io.write_table(table, tmp_path / "t.csv")
    assert uLib.io.read_table(tmp_path / "t.csv", "ab").Columns == "ab"


def test_threads_that_save_one_document_while_others_load_it(tmp_path):
    path, errors, end = tmp_path / "scene.gcx", [], threading.Event()

    def save(value):
        image = uLib.VoxImage(128, 64, 64, voxel_bytes=4)
        image.Fill(value)
        scene = Scene({"image": image})
        scene.save(path)
        ready.release()
        while not end.is_set():
            scene.save(path)

    def load():
        while not end.is_set():
            try:
                values = np.asarray(Scene.load(path)["image"])
                assert values.min() == values.max()
            except Exception as error:
                errors.append(error)

    ready = threading.Semaphore(0)
    threads = [threading.Thread(target=save, args=(value,)) for value in (1, 2)] + [threading.Thread(target=load)]
    for thread in threads[:2]:
        thread.start()
    ready.acquire(), ready.acquire()
    threads[2].start()
    end.wait(2)
    end.set()
    for thread in threads:
        thread.join()
    assert not errors
    Scene.load(path)
    assert len(list((tmp_path / "scene.gcx.data").iterdir())) == 1


def test_thousands_of_columns_are_drawn():
    table = uLib.EventTable(",".join(f"c{i}" for i in range(1000)))
    table.AddRow(range(1000))
    table.AddRow(range(1000))
    png = uLib.picture.plot(table, title="x" * 100_000)
    assert io.BytesIO(png).read(8) == b"\x89PNG\r\n\x1a\n"
