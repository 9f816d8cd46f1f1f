"""Where operations ran and why, in Python's ``logging``."""

import logging
import sys
import threading

import pytest
import uLib

NAME = "ulib.placement"


@pytest.fixture
def heard():
    """The records, with the level on for the test."""
    records = []

    class Handler(logging.Handler):
        def emit(self, record):
            records.append(record.getMessage())

    logger = logging.getLogger(NAME)
    handler = Handler()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield records
    logger.setLevel(logging.NOTSET)
    logger.removeHandler(handler)


def test_on_the_host(heard):
    image = uLib.VoxImage(2, 2, 2)
    image.Fill(1)
    image.Sum()
    assert heard[0] == "fill: Host"


def test_a_record_has_level_and_name(caplog):
    caplog.set_level(logging.DEBUG, logger=NAME)
    uLib.VoxImage(2, 2, 2).Fill(1)
    assert caplog.record_tuples == [(NAME, logging.DEBUG, "fill: Host")]


def test_the_reason_is_that_of_the_object(nodriver, heard):
    image = uLib.VoxImage(2, 2, 2)
    image.PreferredDevice = "Device"
    image.Fill(1)
    assert heard == [f"fill: {image.GetDataLocation()}"]
    assert heard[0].startswith("fill: Host (the GPU is disabled")


def test_on_a_device_with_the_upload(gpu, heard):
    image = uLib.VoxImage(2, 2, 2)
    image.PreferredDevice = "Device"
    image.SetValue(0, 3)
    image.Scale(2)
    image.Scale(2)
    place = image.GetDataLocation()
    assert heard[0].endswith(f": {place}; uploaded 64 bytes")
    assert heard[1].endswith(f": {place}")


def test_levels_are_followed(heard):
    image = uLib.VoxImage(2, 2, 2)
    logger = logging.getLogger(NAME)
    for silence, sound in (
        (lambda: logger.setLevel(logging.INFO), lambda: logger.setLevel(logging.DEBUG)),
        (lambda: logging.disable(logging.DEBUG), lambda: logging.disable(logging.NOTSET)),
    ):
        silence()
        image.Fill(1)
        assert heard == []
        sound()
        image.Fill(1)
        assert heard == ["fill: Host"]
        heard.clear()
    logger.disabled = True
    uLib.device.log_changed()
    image.Fill(1)
    logger.disabled = False
    image.Fill(1)
    assert heard == [], "nobody said that it is on again"
    uLib.device.log_changed()
    image.Fill(1)
    assert heard == ["fill: Host"]


def test_a_level_of_the_root_counts():
    image = uLib.VoxImage(2, 2, 2)
    records = []
    root = logging.getLogger()
    before = root.level
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    root.addHandler(handler)
    try:
        root.setLevel(logging.DEBUG)
        image.Fill(1)
        root.setLevel(logging.WARNING)
        image.Fill(1)
    finally:
        root.setLevel(before)
        root.removeHandler(handler)
    assert records == ["fill: Host"]


def test_off_costs_no_python(monkeypatch):
    image = uLib.VoxImage(2, 2, 2)
    logger = logging.getLogger(NAME)
    asked = []
    original = type(logger).isEnabledFor
    monkeypatch.setattr(type(logger), "isEnabledFor", lambda self, level: asked.append(self.name) or original(self, level))
    for _ in range(100):
        image.Fill(1)
    assert NAME not in asked


def test_levels_are_noticed_whenever_they_are_set(python):
    code = """
import uLib
image = uLib.VoxImage(2, 2, 2)
image.Fill(0)
import logging
logging.basicConfig(level=logging.DEBUG)
image.Fill(1)
logging.getLogger().setLevel(logging.INFO)
image.Fill(2)
logging.getLogger("ulib").setLevel(logging.DEBUG)
image.Fill(3)
"""
    assert python(code).stderr == "DEBUG:ulib.placement:fill: Host\n" * 2


def test_a_handler_may_use_the_object(heard):
    image = uLib.VoxImage(2, 2, 2)
    seen = []

    class Handler(logging.Handler):
        def emit(self, record):
            seen.append(image.GetValue(0))
            image.Scale(2)

    handler = Handler()
    logging.getLogger(NAME).addHandler(handler)
    try:
        image.Fill(1)
        image.Fill(3)
    finally:
        logging.getLogger(NAME).removeHandler(handler)
    assert seen == [1, 3]
    assert image.GetValue(0) == 6
    assert heard == ["fill: Host", "fill: Host"], "what a handler does itself is not told to it"


def test_a_handler_that_raises_changes_nothing(heard, monkeypatch):
    image = uLib.VoxImage(2, 2, 2)
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda hook: unraisable.append(hook.exc_value))
    boom = RuntimeError("boom")

    def handle(record):
        raise boom

    logger = logging.getLogger(NAME)
    monkeypatch.setattr(logger, "handle", handle)
    image.Fill(1)
    assert image.GetValue(0) == 1
    assert unraisable == [boom]


def test_threads(heard):
    images = [uLib.VoxImage(2, 2, 2) for _ in range(4)]
    shared = uLib.VoxImage(2, 2, 2)

    def work(image):
        for _ in range(200):
            image.Fill(1)
            shared.Fill(2)

    threads = [threading.Thread(target=work, args=(image,)) for image in images]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert heard.count("fill: Host") == 4 * 2 * 200


def test_at_the_end_of_the_interpreter(python):
    code = """
import atexit, logging, threading, time
import uLib
logging.basicConfig(level=logging.DEBUG)
image = uLib.VoxImage(4, 4, 4)
image.Fill(1)
stop = threading.Event()
def work():
    other = uLib.VoxImage(4, 4, 4)
    while not stop.is_set():
        other.Fill(1)
thread = threading.Thread(target=work)
thread.start()
time.sleep(0.05)
stop.set()
thread.join()
atexit.register(image.Fill, 2)
class Late:
    def __del__(self):
        image.Fill(3)
late = Late()
print("end")
"""
    done = python(code)
    assert done.stdout == "end\n"
    assert "DEBUG:ulib.placement:fill: Host" in done.stderr
    assert "Traceback" not in done.stderr and "Fatal" not in done.stderr
