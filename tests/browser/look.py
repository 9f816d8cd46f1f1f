"""Opens a report in a headless Chromium and uses it: ``look.py PAGE [SCREENSHOT.png]``.

The page is that of the test ``report::a_browser_shows_the_slices``. Sliders are moved by real keys and the real mouse, and the pixels
of the canvases are compared with what the volume holds. An error in the console, a request, or a text of the page that runs as
a program fails. Only the standard library is needed: the browser is spoken to through a pair of pipes.
"""

import base64
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = (
    "--headless --disable-gpu --no-first-run --disable-background-networking --disable-component-update"
    " --disable-sync --disable-dev-shm-usage --remote-debugging-pipe --window-size=1200,900"
).split()
PATIENCE = 60.0


class Browser:
    """A browser with one page, and what it reports."""

    def __init__(self, program: str, profile: str) -> None:
        down, up = os.pipe(), os.pipe()
        # Away from 3 and 4, which the browser listens on.
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 16) for end in (down[0], up[1])]
        os.close(down[0])
        os.close(up[1])

        def pipes() -> None:
            os.dup2(theirs[0], 3)
            os.dup2(theirs[1], 4)

        # A container's root has no user to be sandboxed as.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [program, *FLAGS, *sandbox, f"--user-data-dir={profile}"],
            preexec_fn=pipes,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in theirs:
            os.close(end)
        self.to, self.from_ = down[1], up[0]
        os.set_blocking(self.from_, False)
        self.left, self.number, self.session = b"", 0, None
        self.events: list[dict] = []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def messages(self):
        """Every message as it comes."""
        end = time.monotonic() + PATIENCE
        while True:
            while b"\0" in self.left:
                message, self.left = self.left.split(b"\0", 1)
                yield json.loads(message)
            if time.monotonic() > end or self.process.poll() is not None:
                raise TimeoutError("the browser does not answer")
            try:
                self.left += os.read(self.from_, 1 << 20)
            except BlockingIOError:
                time.sleep(0.01)

    def ask(self, method: str, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        for answer in self.messages():
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, expression: str):
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def key(self, name: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def mouse(self, kind: str, x: float, y: float) -> None:
        button = "none" if kind == "mouseMoved" else "left"
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)

    def wait(self, expression: str) -> None:
        end = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def complaints(self) -> list[str]:
        found = []
        for event in self.events:
            method, what = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(json.dumps(what))
            elif method == "Runtime.consoleAPICalled" and what["type"] in ("error", "assert"):
                found.append(json.dumps(what))
            elif method == "Log.entryAdded" and what["entry"]["level"] == "error":
                found.append(json.dumps(what))
            elif method == "Network.requestWillBeSent":
                url = what["request"]["url"]
                if not url.startswith(("file:", "data:", "blob:")):
                    found.append(f"a request for {url}")
        return found

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def box(browser: Browser, selector: str) -> dict:
    """Where an element is in the window, scrolled to first."""
    return browser.evaluate(
        f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView({{block: 'center'}});"
        " const b = e.getBoundingClientRect();"
        " return {left: b.left, top: b.top, width: b.width, height: b.height}; })()"
    )


def use(browser: Browser, page: pathlib.Path) -> None:
    browser.ask("Page.navigate", url=page.resolve().as_uri())
    browser.wait("document.readyState === 'complete' && document.querySelectorAll('.viewer').length > 0")
    browser.wait("[...document.querySelectorAll('.viewer')].every(v => v.dataset.state)")
    states = browser.evaluate("[...document.querySelectorAll('.viewer')].map(v => v.dataset.state)")
    assert set(states) == {"ready"}, states

    # 200 voxels along x are shown as 100 means of two, of which the middle one is looked at.
    block = "document.querySelectorAll('.viewer')[1].querySelector(\"figure[data-axis='0'] output\").value"
    assert browser.evaluate(block) == "100-101 (101)", browser.evaluate(block)

    pane = ".viewer figure[data-axis='2']"

    def pixel(x: int, y: int) -> list[int]:
        return browser.evaluate(
            f"[...document.querySelector(\"{pane} canvas\").getContext('2d').getImageData({x}, {y}, 1, 1).data]"
        )

    def picture() -> str:
        return browser.evaluate(f'document.querySelector("{pane} canvas").toDataURL()')

    # 40 x 30 x 20 voxels of 1 x 1 x 2, the middle slice, which is empty.
    size = browser.evaluate(f'(c => [c.width, c.height])(document.querySelector("{pane} canvas"))')
    assert size == [40, 30], size
    assert browser.evaluate(f'document.querySelector("{pane} input").value') == "10"
    assert pixel(5, 22) == [0, 0, 0, 255], pixel(5, 22)
    before = picture()

    # By keys to slice 0 with NaN at its corner, and on to slice 3 with a voxel of 1 at (5, 7).
    browser.evaluate(f'document.querySelector("{pane} input").focus()')
    browser.key("Home", 36)
    browser.wait(f"document.querySelector(\"{pane} output\").value.startsWith('0 (')")
    assert pixel(0, 29) == [200, 30, 30, 255], pixel(0, 29)
    first = picture()
    for _ in range(3):
        browser.key("ArrowRight", 39)
    browser.wait(f"document.querySelector(\"{pane} output\").value === '3 (7)'")
    assert pixel(5, 22) == [255, 255, 255, 255], pixel(5, 22)
    third = picture()
    assert len({before, first, third}) == 3

    # What is under the mouse.
    at = box(browser, f"{pane} canvas")
    right, down = (at["width"] * 5.5 / 40, at["height"] * 22.5 / 30)
    browser.mouse("mouseMoved", at["left"] + right, at["top"] + down)
    here = "document.querySelector('.here').textContent"
    browser.wait(f"{here} !== ''")
    assert browser.evaluate(here) == "voxel 5, 7, 3: about 1", browser.evaluate(here)

    # By the mouse to somewhere behind the middle.
    at = box(browser, f"{pane} input")
    place = (at["left"] + at["width"] * 0.8, at["top"] + at["height"] / 2)
    browser.mouse("mousePressed", *place)
    browser.mouse("mouseReleased", *place)
    assert 13 <= int(browser.evaluate(f'document.querySelector("{pane} input").value')) <= 18
    assert picture() == before, "as empty as the middle one"

    # Another slice of another axis goes through the voxel, in other colours and another window.
    browser.evaluate(
        "(s => { s.value = 7; s.dispatchEvent(new Event('input', {bubbles: true})); })"
        "(document.querySelector(\".viewer figure[data-axis='1'] input\"))"
    )
    pane = ".viewer figure[data-axis='1']"
    assert pixel(5, 16) == [255, 255, 255, 255], pixel(5, 16)
    browser.evaluate(
        "(s => { s.value = 'viridis'; s.dispatchEvent(new Event('input', {bubbles: true})); })"
        "(document.querySelector('.viewer select'))"
    )
    assert pixel(5, 16) == [253, 231, 37, 255], pixel(5, 16)
    assert pixel(0, 0) == [68, 1, 84, 255], pixel(0, 0)
    browser.evaluate("document.querySelector('.viewer .low').focus()")
    browser.key("End", 35)
    browser.wait("document.querySelector('.viewer .low').value === '1000'")
    assert pixel(5, 16) not in ([253, 231, 37, 255], [68, 1, 84, 255]), "the middle of the map"
    browser.key("Home", 36)
    browser.wait("document.querySelector('.viewer .low').value === '0'")

    assert browser.evaluate("document.querySelectorAll('svg path').length") > 50
    assert browser.evaluate("document.querySelectorAll('.tree tbody tr').length") >= 5
    assert browser.evaluate("window.hacked === undefined"), "a text of the page ran as a program"
    # What would leave its element would leave the page without its end.
    assert browser.evaluate("document.body.lastElementChild.tagName") == "SCRIPT"
    assert browser.complaints() == [], browser.complaints()


def shoot(browser: Browser, path: str) -> None:
    height = browser.evaluate("document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": 1200, "height": height, "scale": 1}
    shot = browser.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
    pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))


def main() -> int:
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print("no Chromium on PATH")
        return 77
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            use(browser, pathlib.Path(sys.argv[1]))
            if len(sys.argv) > 2:
                shoot(browser, sys.argv[2])
        finally:
            browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
