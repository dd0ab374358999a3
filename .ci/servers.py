#!/usr/bin/env python3
"""Three servers on one Postgres behind the proxy of docker-compose.scale.yml: what docs/scale.md promises, seen by clients.

    .ci/servers.py containers COMPOSE SUBNET       the file itself, under the engine that DOCKER_HOST names
    .ci/servers.py processes PROGRAM               three processes and a Postgres, and the proxy with the file's own configuration
    .ci/servers.py apart PROGRAM                   the control: three that share nothing; the first promise has to break

1. One of three is killed (SIGKILL) in the middle of a reply. Its client comes back through the proxy and resumes by its cursor:
   nothing acknowledged is lost, nothing is missed or shown twice, and the reply comes exactly once.
2. Each of three is drained and started again, one after the other, while clients of the socket, of HTTP and of a stream of
   server-sent events go on: every acknowledged message is in the log once and answered once.

Exit codes: 0, or 1 with what was broken. A client here does what docs/frontend.md asks of one, no more.
"""
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

COMPOSE = Path(__file__).resolve().parent.parent / "docker-compose.scale.yml"
TOKEN = "the-token-of-these-checks"
AUTH = {"authorization": f"Bearer {TOKEN}"}
# The defaults: a lease lasts ten seconds, and servers look for threads that nobody runs every three.
TAKE_OVER_S = 10 + 3 + 1
# Nothing here may take longer.
PATIENCE_S = 60
CLIENTS = 4


class Broken(Exception):
    """A promise was not kept."""


def until(what, test, seconds=PATIENCE_S):
    """Waits for something true, and returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = test()
        if found:
            return found
        time.sleep(0.1)
    raise Broken(f"{what}: not within {seconds} s")


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def get(address, path, **more):
    with urllib.request.urlopen(urllib.request.Request(f"http://{address}{path}", headers=AUTH, **more), timeout=30) as answer:
        return answer.read().decode()


def ready(address):
    try:
        return get(address, "/readyz") == "ok\n"
    except OSError:
        return False


# ---------------------------------------------------------------- the model

class Model(http.server.BaseHTTPRequestHandler):
    """Voices pass; the decision replies to the last message it is shown, in two pieces, and the first time in `main` in one."""
    half_said = threading.Event()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        decides = self.headers["x-thinkd-module"] == "decision"
        hangs = decides and self.headers["x-thinkd-thread"] == "main" and not Model.half_said.is_set()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if not decides:
            return self.pieces({"content": "PASS"}, finish="stop")
        reply = json.dumps({"text": "heard " + re.findall(r"say-[0-9a-f]+", body)[-1]})
        call = {"index": 0, "id": "1", "type": "function", "function": {"name": "reply", "arguments": reply[:16]}}
        self.pieces({"role": "assistant", "tool_calls": [call]})
        if hangs:
            Model.half_said.set()
            time.sleep(PATIENCE_S)
        self.pieces({"tool_calls": [{"index": 0, "function": {"arguments": reply[16:]}}]}, finish="tool_calls")

    def pieces(self, delta, finish=None):
        choices = [({"index": 0, "delta": delta, "finish_reason": None})]
        choices += [{"index": 0, "delta": {}, "finish_reason": finish}] if finish else []
        for choice in choices:
            chunk = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [choice]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n" if finish else b"")
        self.wfile.flush()

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    """Callers that are killed are what this is about."""
    request_queue_size = 64

    def handle_error(self, *_):
        pass


def model():
    """The port of a model."""
    server = Quiet(("0.0.0.0", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


# ---------------------------------------------------------------- the servers

def configured(port):
    return {"OPENAI_BASE_URL": f"http://HOST:{port}/v1", "OPENAI_API_KEY": "check", "THINKD_MODEL": "scripted", "THINKD_TOKEN": TOKEN}


class Containers:
    """The compose file under an engine."""

    def __init__(self, compose, subnet):
        gateway, port = f"{subnet}.1", free_port()
        self.proxy = f"127.0.0.1:{port}"
        self.folder = tempfile.TemporaryDirectory()
        # Where the model of this script is. Nothing else of the file is changed.
        network = Path(self.folder.name) / "network.yml"
        network.write_text(f"networks: {{default: {{ipam: {{config: [{{subnet: {subnet}.0/24}}]}}}}}}\n")
        # What Compose reads beside the file.
        (Path(self.folder.name) / ".env").write_text("")
        given = {name: value.replace("HOST", gateway) for name, value in configured(model()).items()}
        self.environment = {**os.environ, **given, "POSTGRES_PASSWORD": "check", "THINKD_PUBLISH": self.proxy}
        self.compose = [compose, "-p", "scale", "--env-file", f"{self.folder.name}/.env", "-f", str(COMPOSE), "-f", str(network)]
        self.run(*self.compose, "up", "-d", "--scale", "thinkd=3")
        self.ids = self.run(*self.compose, "ps", "-q", "thinkd").split()

    def run(self, *command):
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, cwd=COMPOSE.parent)
        if done.returncode:
            raise Broken(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout

    def inspect(self, at, what):
        return self.run("docker", "inspect", "-f", what, self.ids[at]).strip()

    def address(self, at):
        return self.inspect(at, "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}") + ":2953"

    def kill(self, at):
        self.run("docker", "kill", "-s", "KILL", self.ids[at])

    def stop(self, at):
        self.run("docker", "stop", "-t", "40", self.ids[at])
        return int(self.inspect(at, "{{.State.ExitCode}}"))

    def start(self, at):
        self.run("docker", "start", self.ids[at])

    def logs(self):
        return self.run(*self.compose, "logs", "--no-color", "--tail", "40")

    def end(self):
        subprocess.run([*self.compose, "down", "-v", "-t", "1"], env=self.environment, capture_output=True, cwd=COMPOSE.parent)


class Database:
    """A Postgres of this machine, on data of its own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.bin, self.port = max(Path("/usr/lib/postgresql").glob("*/bin")), free_port()
        # It refuses to run as root.
        self.run_as = {"user": "postgres"} if os.getuid() == 0 else {}
        if self.run_as:
            shutil.chown(self.folder.name, "postgres")
        data = f"{self.folder.name}/data"
        made = [self.bin / "initdb", "-N", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale", "C.UTF-8"]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL, cwd="/", **self.run_as)
        started = [self.bin / "postgres", "-D", data, "-p", str(self.port), "-k", self.folder.name]
        log = open(Path(self.folder.name) / "log", "w")
        self.process = subprocess.Popen(started, stdout=log, stderr=log, cwd="/", **self.run_as)
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        until("Postgres is ready", lambda: subprocess.run([self.bin / "pg_isready", "-qh", "127.0.0.1", "-p", str(self.port)]).returncode == 0)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()


class Processes:
    """The same without an engine; `apart` every server has a database of its own."""

    def __init__(self, program, apart):
        self.program, self.folder = os.path.abspath(program), tempfile.TemporaryDirectory()
        self.database = None if apart else Database()
        given = {name: value.replace("HOST", "127.0.0.1") for name, value in configured(model()).items()}
        self.addresses = [f"127.0.0.1:{free_port()}" for _ in range(3)]
        self.environments = [
            {"THINKD_LISTEN": address, "DATABASE_URL": f"sqlite://{self.folder.name}/{at}.db" if apart else self.database.url, **given}
            for at, address in enumerate(self.addresses)
        ]
        self.running = [None] * 3
        self.log = open(Path(self.folder.name) / "log", "w+")
        for at in range(3):
            self.start(at)
        self.proxy = f"127.0.0.1:{free_port()}"
        self.haproxy = subprocess.Popen(["haproxy", "-db", "-f", self.configuration()], stdout=self.log, stderr=self.log)

    def configuration(self):
        """What the compose file has for the proxy, with addresses in the place of a name that an engine resolves."""
        text = textwrap.dedent(re.search(r"PROXY_CONFIG: \|\n((?: {8}.*\n|\n)+)", COMPOSE.read_text())[1])
        servers = "".join(f"  server thinkd{at} {address}\n" for at, address in enumerate(self.addresses))
        for pattern, put in [(r"resolvers engine\n(  .*\n)+", ""), (r"  server-template .*\n", servers), (r"bind :2953", f"bind {self.proxy}")]:
            text, found = re.subn(pattern, put, text)
            assert found == 1, f"docker-compose.scale.yml has no longer: {pattern}"
        path = Path(self.folder.name) / "haproxy.cfg"
        path.write_text(text)
        return path

    def address(self, at):
        return self.addresses[at]

    def start(self, at):
        self.running[at] = subprocess.Popen([self.program], env=self.environments[at], cwd=self.folder.name, stdout=self.log, stderr=self.log)

    def kill(self, at):
        self.running[at].kill()
        self.running[at].wait()

    def stop(self, at):
        self.running[at].send_signal(signal.SIGTERM)
        return self.running[at].wait(40)

    def logs(self):
        self.log.seek(0)
        return self.log.read()[-8000:]

    def end(self):
        for process in [*self.running, self.haproxy]:
            process.kill()
            process.wait()
        if self.database:
            self.database.end()


# ---------------------------------------------------------------- clients

class Client:
    """A socket through the proxy that follows one thread: it resumes after the last event it saw, and repeats what was not acknowledged.
    `after=None` is one that forgets its cursor."""

    def __init__(self, proxy, thread, after=0):
        self.proxy, self.thread = proxy, thread
        self.events, self.last, self.epoch, self.lost, self.caught_up = [], after, None, 0, False
        self.said, self.acknowledged = {}, {}
        self.socket = None
        self.connect()

    def connect(self):
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.socket = connect(f"ws://{self.proxy}/ws", additional_headers=AUTH, open_timeout=10, close_timeout=1)
                hello = json.loads(self.socket.recv(10))
                self.epoch = self.epoch or hello["epoch"]
                cursor = {} if self.last is None else {"after": self.last, "epoch": self.epoch}
                return self.send({"type": "subscribe", "thread": self.thread, **cursor})
            except (WebSocketException, OSError) as error:
                if time.monotonic() > end:
                    raise Broken(f"no way back to a server: {error}") from error
                time.sleep(0.2)

    def send(self, frame):
        self.socket.send(json.dumps(frame))

    def say(self):
        """Says something; its words are for the reply to repeat."""
        event_id, words = str(uuid.uuid4()), f"say-{uuid.uuid4().hex[:16]}"
        self.said[event_id] = words
        self.send_said(event_id)
        return words

    def send_said(self, event_id):
        self.send({"type": "message", "id": event_id, "event_id": event_id, "thread": self.thread, "text": self.said[event_id]})

    def next(self, seconds=PATIENCE_S):
        """The next frame, over as many connections as it takes; `None` after a new one."""
        try:
            frame = json.loads(self.socket.recv(seconds))
        except TimeoutError as error:
            raise Broken(f"{self.thread}: nothing came in {seconds} s") from error
        except (WebSocketException, OSError):
            self.lost += 1
            self.back()
            return None
        if frame["type"] == "event":
            self.events.append(frame["event"])
            self.last = frame["event"]["seq"]
        elif frame["type"] == "caught_up":
            self.caught_up = True
        elif frame["type"] == "ack" and frame.get("id") in self.said:
            self.acknowledged[frame["id"]] = self.said.pop(frame["id"])
        elif frame["type"] == "problem":
            if "unavailable" not in json.dumps(frame["problem"]):
                raise Broken(f"{self.thread}: refused: {frame['problem']}")
            time.sleep(0.2)
            for event_id in self.said:
                self.send_said(event_id)
        return frame

    def back(self):
        while True:
            self.connect()
            try:
                for event_id in self.said:
                    self.send_said(event_id)
                return
            except (WebSocketException, OSError):
                pass

    def wait(self, test):
        while not test():
            self.next()

    def heard(self, words):
        return any(is_reply(event, words) for event in self.events)


def is_reply(event, words):
    return "response" in event["meta"]["tags"] and event["payload"]["text"] == f"heard {words}"


class Poster(threading.Thread):
    """Posts with `?wait=`, again with the same id where the answer is not one of success; every message into a thread of its own, because
    messages that wait together are answered together."""

    def __init__(self, proxy, going):
        super().__init__(daemon=True)
        self.proxy, self.going, self.acknowledged, self.lost, self.wrong = proxy, going, {}, 0, None

    def run(self):
        try:
            while self.going.is_set():
                event_id, words = str(uuid.uuid4()), f"say-{uuid.uuid4().hex[:16]}"
                until("a posted message is taken", lambda: self.post(event_id, words))
                self.acknowledged[event_id] = words
        except Broken as error:
            self.wrong = error

    def post(self, event_id, words):
        data = json.dumps({"event_id": event_id, "text": words}).encode()
        request = urllib.request.Request(f"http://{self.proxy}/threads/{words}/messages?wait=5", data, {**AUTH, "content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                json.load(answer)
            return True
        except urllib.error.HTTPError as error:
            self.lost += 1
            if error.code not in (502, 503, 504):
                raise Broken(f"a message was refused: {error.code} {error.read()}") from error
        except (OSError, http.client.HTTPException):
            self.lost += 1
        return False


class Stream(threading.Thread):
    """Server-sent events of all threads from the beginning, resumed by `Last-Event-ID`."""

    def __init__(self, proxy, going):
        super().__init__(daemon=True)
        self.proxy, self.going, self.seen, self.last, self.lost = proxy, going, [], None, -1

    def run(self):
        while self.going.is_set():
            self.lost += 1
            try:
                self.follow()
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)

    def follow(self):
        more = {"last-event-id": self.last} if self.last else {}
        request = urllib.request.Request(f"http://{self.proxy}/events/stream" + ("" if self.last else "?after=0"), headers={**AUTH, **more})
        with urllib.request.urlopen(request, timeout=30) as answer:
            for line in answer:
                if line.startswith(b"id:"):
                    self.last = line[3:].strip().decode()
                    self.seen.append(int(self.last.partition("@")[0]))


class Talker(threading.Thread):
    """A client that says something, waits for the reply, and says the next thing."""

    def __init__(self, proxy, going, number):
        super().__init__(daemon=True)
        self.going, self.wrong, self.client = going, None, Client(proxy, f"talk-{number}")

    def run(self):
        client = self.client
        try:
            while self.going.is_set():
                try:
                    words = client.say()
                except (WebSocketException, OSError):
                    words = list(client.said.values())[-1]
                client.wait(lambda: not client.said and client.heard(words))
        except Exception as error:  # said by whoever waits for this thread
            self.wrong = error


def whole_log(proxy):
    events = []
    while True:
        page = json.loads(get(proxy, f"/events?order=asc&limit=500&after={events[-1]['seq'] if events else 0}"))["items"]
        if not page:
            return events
        events += page


def check_answered(log, acknowledged):
    """Every acknowledged message is in the log once, and answered once."""
    for event_id, words in acknowledged.items():
        stored = [event for event in log if event["event_id"] == event_id]
        if len(stored) != 1 or stored[0]["payload"]["text"] != words:
            raise Broken(f"an acknowledged message is {len(stored)} times in the log: {event_id}")
        replies = sum(is_reply(event, words) for event in log)
        if replies != 1:
            raise Broken(f"an acknowledged message was answered {replies} times: {event_id}")


def check_seen(what, seen, log):
    """Who resumed saw what is in the log: all of it, once, in order."""
    stored = [event["seq"] for event in log]
    if seen != stored:
        missed, twice = sorted(set(stored) - set(seen)), len(seen) - len(set(seen))
        raise Broken(f"{what} missed {missed} and saw {twice} events twice")


# ---------------------------------------------------------------- the promises

def serving(servers):
    """The servers that have sockets."""
    return [at for at in range(3) if re.search(r"^thinkd_sockets [1-9]", get(servers.address(at), "/metrics"), re.M)]


def killed_in_the_middle(servers):
    client = Client(servers.proxy, "main")
    words = client.say()
    client.wait(lambda: not client.said)
    while (client.next() or {}).get("type") != "delta":
        pass
    [at] = until("a server has the client's socket", lambda: serving(servers))
    servers.kill(at)
    begin = time.monotonic()
    # While nobody runs its thread the client is served, and so is everybody else.
    other = Client(servers.proxy, "other")
    meanwhile = other.say()
    other.wait(lambda: not other.said and other.heard(meanwhile))
    while client.lost == 0:
        client.next()
    back = time.monotonic() - begin
    client.wait(lambda: client.heard(words))
    took = time.monotonic() - begin
    client.wait(lambda: {"turn", "ended"} <= set(client.events[-1]["meta"]["tags"]))
    log = whole_log(servers.proxy)
    check_answered(log, {**client.acknowledged, **other.acknowledged})
    of_main = [event for event in log if event["thread"] == "main"]
    check_seen("the client that came back", [event["seq"] for event in client.events], of_main)
    # Control: who comes back without a cursor has missed what the same check asks for.
    control = Client(servers.proxy, "main", after=None)
    control.wait(lambda: control.caught_up)
    try:
        check_seen("the control", [event["seq"] for event in control.events], of_main)
    except Broken as missed:
        print(f"as it must be without a cursor: {missed}")
    else:
        raise Broken("the check of what was seen cannot fail")
    if took > TAKE_OVER_S:
        raise Broken(f"the turn was taken up after {took:.1f} s, which is more than {TAKE_OVER_S}")
    print(f"killed in the middle of a reply: the client was back after {back:.1f} s, its reply came once, after {took:.1f} s")
    servers.start(at)
    until("the killed server is back", lambda: ready(servers.address(at)))


def rolling_restart(servers):
    going = threading.Event()
    going.set()
    stream, poster = Stream(servers.proxy, going), Poster(servers.proxy, going)
    talkers = [Talker(servers.proxy, going, number) for number in range(CLIENTS)]
    everybody = [*talkers, poster, stream]
    for thread in everybody:
        thread.start()
    stops = []
    for at in range(3):
        begin = time.monotonic()
        code = servers.stop(at)
        stops.append(f"{time.monotonic() - begin:.1f} s")
        if code != 0:
            raise Broken(f"a drained server ended with {code}")
        servers.start(at)
        until("a restarted server is ready", lambda: ready(servers.address(at)))
        # The proxy asks every second.
        time.sleep(2)
    going.clear()
    for thread in [*talkers, poster]:
        thread.join(PATIENCE_S)
        if thread.is_alive() or thread.wrong:
            raise Broken(f"a client could not go on: {thread.wrong}")
    acknowledged = dict(poster.acknowledged)
    for talker in talkers:
        acknowledged.update(talker.client.acknowledged)
    lost = sum(talker.client.lost for talker in talkers)
    if lost < CLIENTS:
        raise Broken(f"only {lost} sockets were closed: this was no restart under load")
    until("all is answered", lambda: all(any(is_reply(event, words) for event in log) for log in [whole_log(servers.proxy)] for words in acknowledged.values()))
    until("the stream has everything", lambda: stream.seen[-1:] == [whole_log(servers.proxy)[-1]["seq"]])
    log = whole_log(servers.proxy)
    check_answered(log, acknowledged)
    check_seen("the stream", stream.seen, log)
    print(f"rolling restart: stopped in {', '.join(stops)}; {len(acknowledged)} messages acknowledged, each in the log and answered once; "
          f"{lost} sockets and {stream.lost} streams resumed, {poster.lost} posts repeated")


def main():
    _, kind, *arguments = sys.argv
    servers = None
    try:
        servers = Containers(*arguments) if kind == "containers" else Processes(*arguments, apart=kind == "apart")
        for at in range(3):
            until("a server is ready", lambda at=at: ready(servers.address(at)))
        until("the proxy finds the servers", lambda: ready(servers.proxy))
        if kind == "apart":
            return has_to_break(servers)
        killed_in_the_middle(servers)
        rolling_restart(servers)
    except Broken as broken:
        print(servers.logs() if servers else "", f"BROKEN: {broken}", sep="\n")
        sys.exit(1)
    finally:
        if servers:
            servers.end()


def has_to_break(servers):
    try:
        killed_in_the_middle(servers)
    except Broken as broken:
        if "epoch-changed" not in str(broken):
            raise
        return print(f"three servers that share nothing break the promise, as they must: {broken}")
    raise Broken("three servers that share nothing keep the promise: nothing is checked here")


main()
