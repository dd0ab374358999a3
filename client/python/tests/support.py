"""A real server that is killed and started again, a scripted model behind it, and a door in front of it that cuts connections."""

import faulthandler
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from thinkd import Thinkd

ROOT = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("THINKD_BIN") or str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "thinkd")
PATIENCE = 60.0
faulthandler.dump_traceback_later(170, exit=True)  # a test that hangs says where


def until(what, holds):
    """Waits until `holds` returns something, and returns it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := holds():
            return value
        time.sleep(0.005)
    raise AssertionError(f"{what} did not come within {PATIENCE} s")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server on a database of its own."""

    def __init__(self, **settings):
        self._folder = tempfile.TemporaryDirectory(prefix="thinkd-python-")
        self.folder = Path(self._folder.name)
        self.port = free_port()
        kept = {"PATH": os.environ["PATH"], "HOME": self._folder.name}
        defaults = {"THINKD_RUNTIME__DEFAULT_SUBMODULES": "false", "THINKD_TEST_RUNTIME__LEASE_MS": "1000"}
        self._env = {**kept, **defaults, **settings, "THINKD_LISTEN": f"127.0.0.1:{self.port}"}
        self._process = None
        self._output = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self, *, fresh=False):
        """Starts it, or starts it again; `fresh`: on another, empty database."""
        if fresh:
            for file in self.folder.glob("thinkd.db*"):
                file.unlink()
        self._output = open(self.folder / "output", "ab")
        self._process = subprocess.Popen([BINARY], cwd=self.folder, env=self._env, stdout=self._output, stderr=subprocess.STDOUT)
        until("the server's port", self._listens)
        return self

    def _listens(self):
        if self._process.poll() is not None:
            raise AssertionError("the server ended instead of listening:\n" + (self.folder / "output").read_text())
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self):
        """kill -9."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
        if self._output:
            self._output.close()

    def stop(self):
        self.kill()
        self._folder.cleanup()


class Model:
    """An endpoint as OpenAI has it. `call TOOL ARGUMENTS` has it call a tool once, `hold` stop in the middle of its reply; else it repeats what was said."""

    def __init__(self):
        self.held = threading.Semaphore(0)
        self.go = threading.Event()
        self._called = set()
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                try:
                    model._answer(body, self)
                except OSError:
                    pass  # the server was killed, or the turn cancelled

            def log_message(self, *_):
                pass

            def send(self, delta, finish=None):
                frame = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
                self.wfile.write(f"data: {json.dumps(frame)}\n\n".encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def settings(self):
        return {"THINKD_MODEL": "m", "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"http://127.0.0.1:{self._server.server_port}/v1"}

    def _answer(self, body, to):
        texts = [one["content"] if isinstance(one["content"], str) else "\n".join(part.get("text", "") for part in one["content"])
                 for one in body["messages"]]
        said = (re.findall(r"^#\d+ \[[^\]]*\] user[^:\n]*: (.*)$", "\n".join(texts), re.MULTILINE) or [""])[-1]
        wish = re.match(r"call (\w+) (.*)", said)
        name, arguments = "reply", json.dumps({"text": f"you said {said}"})
        if wish and said not in self._called:
            self._called.add(said)
            name, arguments = wish.groups()
        to.send({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": name, "arguments": ""}}]})
        half = len(arguments) // 2
        for piece in (arguments[:half], arguments[half:]):
            to.send({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
            if "hold" in said and not self.go.is_set():
                self.held.release()
                self.go.wait(PATIENCE)
        to.send({}, "tool_calls")
        to.wfile.write(b"data: [DONE]\n\n")

    def close(self):
        self.go.set()
        self._server.shutdown()
        self._server.server_close()


def end(one):
    """Closes a socket, also one that another thread reads."""
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # closed already
    one.close()


class Door:
    """A way to a server on which all connections are cut. Behind `last_words` nothing of the server comes through."""

    def __init__(self, port):
        self._port = port
        self._pairs = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.last_words = None
        self.heard = b""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return  # the door is closed
            try:
                far = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                near.close()  # the server is away
                continue
            self._pairs.add((near, far))
            for way in ((near, far, False), (far, near, True)):
                threading.Thread(target=self._pass, args=way, daemon=True).start()

    def _pass(self, source, target, back):
        silent = False
        try:
            while data := source.recv(65536):
                silent = silent or (back and self.last_words == b"")
                if not silent:
                    target.sendall(data)
                    self.heard += data if back else b""
                silent = silent or (back and self.last_words is not None and self.last_words in data)
        except OSError:
            pass
        for one in (source, target):
            end(one)

    def cut(self):
        """Resets all connections. Later ones are open both ways."""
        self.last_words, self.heard = None, b""
        for pair in list(self._pairs):
            self._pairs.discard(pair)
            for one in pair:
                try:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                except OSError:
                    pass  # closed already
                end(one)

    def close(self):
        self._listener.close()
        self.cut()


class Case(unittest.TestCase):
    """A test with a server and a scripted model of its own class."""

    settings: dict = {}

    @classmethod
    def setUpClass(cls):
        cls.model = Model()
        cls.addClassCleanup(cls.model.close)
        cls.server = Server(**cls.model.settings, **cls.settings)
        cls.addClassCleanup(cls.server.stop)
        cls.server.start()

    def client(self, **options):
        client = Thinkd(options.pop("url", self.server.url), **options)
        self.addCleanup(client.close)
        return client

    def hold(self):
        """From here on replies stop in the middle, until `self.model.go.set()`."""
        self.model.go.clear()
        self.addCleanup(self.model.go.set)

    def stored(self, thread):
        """The log of a thread, as the server has it."""
        return list(self.client().thread(thread).history(order="asc"))


def background(work):
    """Runs this in a thread; the function that comes back waits for its result."""
    result = []

    def run():
        try:
            result.append((work(), None))
        except BaseException as error:
            result.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def join():
        thread.join(PATIENCE)
        if not result:
            raise AssertionError("the work did not end")
        value, error = result[0]
        if error:
            raise error
        return value

    return join
