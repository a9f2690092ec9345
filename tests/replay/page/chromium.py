# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Chromium: a headless browser that tests drive through a pipe, with the DevTools protocol.

    with Chromium(program) as browser:
        browser.open(path)
        browser.run("document.title")

The browser needs no port and no other program. All waits have one deadline: DEADLINE seconds."""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

DEADLINE = 120

FLAGS = """--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --disable-dev-shm-usage --disable-extensions --disable-default-apps
    --no-default-browser-check --hide-scrollbars --force-device-scale-factor=1 --remote-debugging-pipe
    --window-size=1280,1600""".split()


class Chromium:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="rocedrill-chromium-")
        to_read, self.to = os.pipe()
        self.source, from_write = os.pipe()
        # The browser reads commands from descriptor 3 and writes replies to descriptor 4.
        high_read, high_write = (os.dup2(fd, 60 + i) for i, fd in enumerate((to_read, from_write)))
        os.close(to_read)
        os.close(from_write)

        def descriptors():
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        self.errors = tempfile.TemporaryFile()
        self.child = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"], close_fds=False,
            preexec_fn=descriptors, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=self.errors, start_new_session=True,
            env=dict(os.environ, HOME=self.profile, XDG_CONFIG_HOME=self.profile,
                     XDG_CACHE_HOME=self.profile))
        os.close(high_read)
        os.close(high_write)
        self.buffer = b""
        self.next_id = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.child.wait()
        os.close(self.to)
        os.close(self.source)
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self, end):
        """Returns the next message of the browser."""
        while b"\0" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.source], [], [], left)[0]:
                raise TimeoutError(f"no answer of the browser within {DEADLINE} s: {self.stderr()}")
            data = os.read(self.source, 1 << 20)
            if not data:
                raise RuntimeError(f"the browser ended: {self.stderr()}")
            self.buffer += data
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:]

    def call(self, method, **parameters):
        self.next_id += 1
        command = {"id": self.next_id, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        end = time.monotonic() + DEADLINE
        while True:
            message = self.message(end)
            if message.get("id") == self.next_id:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def wait_event(self, method):
        end = time.monotonic() + DEADLINE
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.message(end))

    def open(self, path):
        """Loads a file and waits until the page has drawn. Returns the events since then."""
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_event("Page.loadEventFired")
        self.frames()

    def frames(self):
        """Waits until two animation frames have passed, so that everything is drawn."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")

    def run(self, script):
        """Returns the value of a script. Waits for the value of a promise."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, key, code=0, shift=False):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0,
                      windowsVirtualKeyCode=code, **(text if kind == "keyDown" else {}))

    def move(self, x, y):
        """Moves the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.frames()

    def click(self, x, y):
        for kind in "mousePressed", "mouseReleased":
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.frames()

    def drag(self, x0, x1, y, shift=False):
        """Moves the mouse from x0 to x1 with a pressed button."""
        steps = ("mousePressed", x0), ("mouseMoved", (x0 + x1) / 2), ("mouseMoved", x1), ("mouseReleased", x1)
        for kind, x in steps:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1, modifiers=8 if shift else 0)
        self.frames()

    def clipboard(self):
        self.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        return self.run("navigator.clipboard.readText()")

    def scheme(self, name):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])
        self.frames()

    def problems(self):
        """Returns console errors, exceptions, and requests other than for files and for data in the page."""
        found = []
        for e in self.events:
            what, p = e.get("method"), e.get("params", {})
            if what == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(p["exceptionDetails"])[:600])
            elif what == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
                found.append("console: " + json.dumps(p["args"])[:600])
            elif what == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
                found.append("log: " + p["entry"]["text"] + " " + p["entry"].get("url", ""))
        return found

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events
                if e.get("method") == "Network.requestWillBeSent"]

    def screenshot(self, path, height=None):
        """Writes a picture of the page, down to `height` pixels."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        image = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as out:
            out.write(base64.b64decode(image["data"]))
