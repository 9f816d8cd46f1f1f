"""Scenes and their documents, and what recipes are given."""

import linecache
import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
import uLib
from uLib.scene import RecipeError, Scene


@pytest.fixture
def scene():
    scene = Scene()
    scene["phantom"] = uLib.VoxImage(2, 3, 4, spacing=(0.5, 1, 2))
    scene["phantom"].SetValues(np.arange(24, dtype=np.float32))
    scene["profile"] = uLib.EventTable("slice,total")
    return scene


def recipe(body, **parameters):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return uLib.Recipe(f"def run(ctx):\n{lines}\n", parameters)


def everything():
    """An object of every class, with numbers that no other has."""
    small = uLib.VoxImage(3, 2, 1, voxel_bytes=4, order="ZYX", origin=(1, 2, 3), position=(4, 5, 6))
    small.SetValues(np.arange(6, dtype=np.float32))
    counted = uLib.VoxImage(2, 1, 1)
    counted.SetValues([0.5, -1])
    counted.Count.SetValues(np.array([7, 9], dtype=np.uint32))
    channels = uLib.MultiVoxImage(2, 1, 1, channels=2, components=3)
    channels.SetActive(1, 2)
    channels.SetValues([1.5, 2.5])
    table = uLib.EventTable("a,b")
    table.AddRow([0.1, float("nan")])
    muons = uLib.MuonScatterCollection(0)
    muons.Append(((1, 2, 3), (0, 0, 1)), ((1, 2, 0), (0, 1, 0)), 3.5, 4.5)
    lines = uLib.LineCollection(0)
    lines.Append((1, 2, 3), (0, 0, 1))
    events = uLib.GeantEventCollection([("run.root", "first")])
    program = uLib.Recipe("def run(ctx):\n    ctx.log('1 < 2 & ü')\n", {"side": 3})
    return {
        "small": small,
        "counted": counted,
        "channels": channels,
        "table": table,
        "floats": uLib.FloatCollection([0.25, -8]),
        "lines": lines,
        "muons": muons,
        "events": events,
        "program": program,
    }


def test_every_class_is_saved_and_loaded(tmp_path):
    objects = everything()
    for found in objects.values():
        found.PreferredDevice = "Device"
    Scene(objects).save(tmp_path / "all.gcx")
    again = Scene.load(str(tmp_path / "all.gcx"))
    assert list(again) == list(objects)
    for name, found in objects.items():
        loaded = again[name]
        assert type(loaded) is type(found)
        assert loaded.PreferredDevice == "Device"
        # Class, arguments and bytes, all that a pickle keeps.
        assert pickle.dumps(loaded) == pickle.dumps(found), name
    assert again["counted"].Count.GetValues().tolist() == [7, 9]
    assert again["channels"].GetValues().tolist() == [1.5, 2.5]
    assert again["program"].Parameters == {"side": "3"}
    assert again["events"].GetEvent(0) == ("run.root", "first")


def test_loading_puts_objects_where_they_are_preferred(tmp_path, gpu, scene):
    scene["phantom"].PreferredDevice = "Device"
    scene.save(tmp_path / "scene.gcx")
    phantom = Scene.load(tmp_path / "scene.gcx")["phantom"]
    assert phantom.IsDeviceResident() is True
    assert phantom.Transfers.uploads == 1
    assert phantom.GetValues().tolist() == list(range(24))


def test_without_a_driver_the_preference_is_kept(tmp_path, nodriver, scene):
    scene["phantom"].PreferredDevice = "Device"
    scene.save(tmp_path / "scene.gcx")
    again = Scene.load(tmp_path / "scene.gcx")
    assert again["phantom"].GetDataLocation().startswith("Host (")
    again.save(tmp_path / "again.gcx")
    assert (tmp_path / "again.gcx").read_bytes() == (tmp_path / "scene.gcx").read_bytes()


def test_loading_and_saving_run_nothing(tmp_path, scene):
    trap = tmp_path / "ran"
    scene["trap"] = uLib.Recipe(f"open({str(trap)!r}, 'w')\ndef run(ctx):\n    open({str(trap)!r}, 'w')\n")
    scene.save(tmp_path / "scene.gcx")
    again = Scene.load(tmp_path / "scene.gcx")
    repr(again), again.refresh(), again.save(tmp_path / "more.gcx")
    assert not trap.exists()
    again.run()
    assert trap.exists()


def test_a_document_that_is_not_there_or_damaged(tmp_path, scene):
    with pytest.raises(FileNotFoundError, match="nowhere.gcx"):
        Scene.load(tmp_path / "nowhere.gcx")
    scene.save(tmp_path / "scene.gcx")
    text = (tmp_path / "scene.gcx").read_text()
    (tmp_path / "scene.gcx").write_text(text.replace("2 3 4", "2 3 5"))
    with pytest.raises(uLib.FormatError, match=r"scene\.gcx.*object 'phantom'"):
        Scene.load(tmp_path / "scene.gcx")
    assert issubclass(uLib.FormatError, ValueError)


def test_a_document_that_cannot_be_written_leaves_the_old_one(tmp_path, scene):
    scene.save(tmp_path / "scene.gcx")
    before = (tmp_path / "scene.gcx").read_bytes()
    scene["bad"] = uLib.Recipe("\0")
    with pytest.raises(ValueError, match="object 'bad'"):
        scene.save(tmp_path / "scene.gcx")
    assert (tmp_path / "scene.gcx").read_bytes() == before
    assert os.listdir(tmp_path) == ["scene.gcx"]
    with pytest.raises(NotADirectoryError):
        scene.save(tmp_path / "scene.gcx" / "inside.gcx")


def test_a_scene_is_a_mapping_in_order(scene):
    assert list(scene) == scene.names == ["phantom", "profile"]
    assert len(scene) == 2 and "phantom" in scene and "nobody" not in scene
    assert scene.get("nobody") is None
    phantom = scene["phantom"]
    scene["floats"] = uLib.FloatCollection([1])
    scene["phantom"] = uLib.VoxImage(1, 1, 1)
    assert scene.names == ["phantom", "profile", "floats"]
    assert scene["phantom"] is not phantom
    del scene["profile"]
    assert scene.names == ["phantom", "floats"]
    with pytest.raises(KeyError, match="no object 'profile', only phantom, floats"):
        scene["profile"]
    with pytest.raises(KeyError):
        del scene["profile"]


@pytest.mark.parametrize("value", [3, np.zeros(3), None, "text"])
def test_only_objects_of_ulib_can_be_in_a_scene(scene, value):
    with pytest.raises(TypeError, match="only an object of uLib"):
        scene["x"] = value
    with pytest.raises(TypeError, match="only an object of uLib"):
        scene["x"] = scene["phantom"].Count
    with pytest.raises(ValueError, match="name"):
        scene[""] = uLib.FloatCollection([1])
    assert scene.names == ["phantom", "profile"]


def test_refresh_updates_every_object_and_tells_listeners(scene, place):
    told = []
    stop = scene.on_refresh(lambda found: told.append(found["phantom"].IsDeviceResident()))
    for found in scene.values():
        found.PreferredDevice = place
    scene["phantom"].SetValue(0, 5)
    scene.refresh()
    assert told == [place == "Device"]
    assert scene["phantom"].GetValue(0) == 5
    stop()
    scene.refresh()
    assert len(told) == 1 and scene.listeners == ()


def test_a_listener_that_fails_stops_no_other(scene):
    told = []

    def fails(_):
        raise LookupError("of the listener")

    scene.on_refresh(fails)
    scene.on_refresh(told.append)
    with pytest.raises(LookupError, match="of the listener"):
        scene.refresh()
    assert told == [scene]


def test_a_recipe_works_on_the_scene(scene, capsys):
    scene["sum"] = recipe(
        """image = ctx['phantom']
assert ctx.phantom == image
for x, total in enumerate(image.Sum(axis=(0, 1))):
    ctx.profile.AddRow([x, total])
ctx.log('rows', ctx.profile.Rows)
print('printed')"""
    )
    scene.run()
    assert [list(row) for row in scene["profile"]] == [[0, sum(range(0, 24, 2))], [1, sum(range(1, 24, 2))]]
    assert capsys.readouterr().out == "rows 2\nprinted\n"


def test_recipes_run_in_order_and_one_by_name(scene):
    said = []
    for name in "b", "a":
        scene[name] = recipe(f"ctx.log({name!r}, ctx.recipe)")
    scene.run(log=said.append)
    scene.run("a", log=said.append)
    assert said == ["b b", "a a", "a a"]
    with pytest.raises(TypeError, match="'phantom' is a VoxImage, not a recipe"):
        scene.run("phantom")
    with pytest.raises(KeyError, match="'nobody'"):
        scene.run("nobody")


def test_the_context_names_what_there_is(scene):
    scene["look"] = recipe("ctx.fantom")
    with pytest.raises(RecipeError) as caught:
        scene.run()
    assert isinstance(caught.value.__cause__, AttributeError)
    assert "no object 'fantom', only phantom, profile, look" in str(caught.value)


def test_a_recipe_puts_objects_into_the_scene(scene):
    scene["make"] = recipe(
        """import uLib
ctx['new'] = uLib.FloatCollection([1, 2])
ctx.new += 1
ctx['new'] *= 2
ctx.other = ctx.new
assert 'new' in ctx and len(ctx) == 5 and list(ctx)[-1] == 'other' and 'other' in dir(ctx)
try:
    ctx.log = 3
except AttributeError:
    ctx.log('cannot be set')"""
    )
    scene.run()
    assert scene["new"].GetValues().tolist() == [4, 6]
    # The object, not what stands for it.
    assert scene["other"] is scene["new"] and type(scene["other"]) is uLib.FloatCollection


def test_an_error_names_the_recipe_and_its_line_and_leaves_the_scene(scene):
    scene["bad one"] = uLib.Recipe("def helper(ctx):\n    return 1 / 0\n\ndef run(ctx):\n    ctx.profile.AddRow([1, 2])\n    helper(ctx)\n")
    with pytest.raises(RecipeError) as caught:
        scene.run()
    error = caught.value
    assert (error.recipe, error.line) == ("bad one", 2)
    assert str(error) == "recipe 'bad one', line 2: ZeroDivisionError: division by zero"
    assert isinstance(error.__cause__, ZeroDivisionError)
    text = "".join(traceback.format_exception(error))
    assert "File \"<recipe 'bad one'>\", line 2, in helper\n    return 1 / 0" in text
    assert scene["profile"].Rows == 1
    scene["bad one"].Source = "def run(ctx):\n    pass\n"
    scene.run()
    assert linecache.getline("<recipe 'bad one'>", 2) == "    pass\n"


@pytest.mark.parametrize(
    ("source", "line", "reason"),
    [
        ("def run(ctx:\n", 1, "SyntaxError"),
        ("x = 1\n\nraise ValueError('early')\n", 3, "ValueError: early"),
        ("x = 1\n", None, "it has no function run(ctx)"),
        ("run = 3\n", None, "it has no function run(ctx)"),
        ("def run():\n    pass\n", None, "TypeError: run() takes 0 positional arguments but 1 was given"),
        ("def run(ctx):\n    import sys\n    sys.exit(3)\n", 3, "SystemExit: 3"),
        ("def run(ctx):\n    ctx.phantom.SetValue(99, 1)\n", 2, "IndexError"),
    ],
)
def test_what_can_be_wrong_with_a_recipe(scene, source, line, reason):
    scene["bad"] = uLib.Recipe(source)
    with pytest.raises(RecipeError) as caught:
        scene.run()
    assert caught.value.line == line
    assert reason in str(caught.value)


def test_parameters_have_the_type_of_their_default(scene):
    scene["parameters"] = recipe(
        """found = [
    ctx.parameter('side', 32), ctx.parameter('factor', 0.5), ctx.parameter('name', 'none'), ctx.parameter('deep', False),
    ctx.parameter('range', (1, 2)), ctx.parameter('unset', 7), ctx.parameter('none', None),
]
ctx.log(repr(found))""",
        side=16,
        factor="1e-3",
        name=5,
        deep="yes",
        range=[3, 4],
        none="text",
    )
    said = []
    scene.run(log=said.append)
    assert said == ["[16, 0.001, '5', True, (3, 4), 7, 'text']"]


@pytest.mark.parametrize(("text", "default", "kind"), [("1.5", "1", "int"), ("x", "0.5", "float"), ("maybe", "True", "bool"), ("3", "()", "tuple")])
def test_a_parameter_that_is_no_such_value(scene, text, default, kind):
    scene["parameters"] = recipe(f"ctx.parameter('side', {default})", side=text)
    with pytest.raises(RecipeError, match=f"line 2: ValueError: parameter 'side' is '{text}', which is no {kind}"):
        scene.run()


def test_progress_is_told_and_can_stop_a_recipe(scene):
    scene["long"] = recipe("for at in range(10):\n    ctx.profile.AddRow([at, 0])\n    ctx.progress(at + 1, 10)")
    told = []
    with pytest.raises(KeyboardInterrupt):
        scene.run(progress=lambda done, total: told.append((done, total)) or done < 3)
    assert told == [(1, 10), (2, 10), (3, 10)]
    assert scene["profile"].Rows == 3


def test_interrupting_a_recipe_is_no_error_of_the_recipe(scene):
    scene["long"] = recipe("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        scene.run()


def test_an_object_is_held_while_it_is_written(tmp_path, scene):
    """What is saved is of one moment, whatever another thread does meanwhile."""
    image = scene["phantom"] = uLib.VoxImage(64, 64, 64)
    stop = threading.Event()

    def fill():
        value = 0
        while not stop.is_set():
            value += 1
            image.Fill(value)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        for at in range(10):
            scene.save(tmp_path / f"{at}.gcx")
    finally:
        stop.set()
        thread.join()
    for at in range(10):
        saved = Scene.load(tmp_path / f"{at}.gcx")["phantom"]
        assert saved.Min() == saved.Max()


def test_control_c_stops_saving_and_leaves_what_was_there(tmp_path):
    program = """
import os, sys, threading, time, uLib
scene = uLib.scene.Scene()
scene['small'] = uLib.FloatCollection([1])
path = sys.argv[1]
scene.save(path)
scene['large'] = uLib.FloatCollection(50_000_000)
print('ready', flush=True)
try:
    for _ in range(1000):
        scene.save(path)
except KeyboardInterrupt:
    print(sorted(os.listdir(os.path.dirname(path))), list(uLib.scene.Scene.load(path)))
"""
    path = tmp_path / "scene.gcx"
    child = subprocess.Popen(
        [sys.executable, "-c", "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + program, str(path)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout.readline() == "ready\n"
    threading.Event().wait(0.3)
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    assert said in (
        "['scene.gcx'] ['small']\n",
        "['scene.gcx', 'scene.gcx.data'] ['small', 'large']\n",
    )


def test_notebooks_show_every_object(scene):
    for name, found in [*everything().items(), ("phantom", scene["phantom"])]:
        html = found._repr_html_()
        assert type(found).__name__ in html and "Host" in html, name
        assert uLib.scene.Scene({"it": found}).proxy("it")._repr_html_() == html
    assert scene["phantom"].Count._repr_html_() is None
    assert "<img" in scene["phantom"]._repr_html_() and "24" not in scene["profile"]._repr_html_()


def test_import_needs_no_numpy(python):
    assert python("import sys, uLib.scene.console; print('numpy' in sys.modules)").stdout == "False\n"
