"""Clients of other protocols, as their registries have them, against the real program.

    run.py PROGRAM COMMAND…     each COMMAND is a client's script: `python3 openai_client.py`

The model is scripted: its decision repeats the last message. A message that begins with `slow` is
answered slowly, one that begins with `fail` by an error, one with the word `weather` by calls of the
client's tool of that name, one for each city after it, and then by their results. The scripts find the server in DOOR_URL
and the model's counts at MODEL_URL.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ENTRY = re.compile(r"^#\d+ \[[^\]]*\] user[^:]*: (.*)$", re.MULTILINE)
RESULT = re.compile(r"^#\d+ \[[^\]]*\] result weather [^:]*: (.*)$", re.MULTILINE)
counts = {"decisions": 0, "others": 0, "cut": 0}
lock = threading.Lock()


class Model(BaseHTTPRequestHandler):
    """Answers chat completions as a provider does, in pieces where a stream is asked for."""

    def do_GET(self):
        self.whole(200, counts)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = "\n".join(str(part) for part in texts(asked["messages"]))
        names = [tool["function"]["name"] for tool in asked.get("tools", [])]
        is_decision = "reply" in names
        with lock:
            counts["decisions" if is_decision else "others"] += 1
        entries = ENTRY.findall(text)
        last = entries[-1] if entries else text.strip().splitlines()[-1]
        if is_decision and last.startswith("fail"):
            return self.whole(401, {"error": {"message": "no such key"}})
        words = f"ok: {last}" if is_decision else "A Title"
        if "weather" in names and "weather" in last:
            found = list(ENTRY.finditer(text))[-1]
            results = RESULT.findall(text[found.end() :])
            if not results:
                cities = last.split("weather")[1].split()
                return self.calls(asked, [{"city": city} for city in cities])
            words = "ok: " + ", ".join(results)
        pause = 0.25 if is_decision and last.startswith("slow") else 0
        try:
            self.answer(asked, is_decision, words + (" word" * 40 if pause else ""), pause)
        except (BrokenPipeError, ConnectionResetError):
            with lock:
                counts["cut"] += 1

    def calls(self, asked, arguments):
        calls = [
            {"index": at, "id": f"w{at}", "type": "function", "function": {"name": "weather", "arguments": json.dumps(each)}}
            for at, each in enumerate(arguments)
        ]
        usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
        head = {"id": "m", "object": "chat.completion", "created": 0, "model": "scripted"}
        if not asked.get("stream"):
            message = {"role": "assistant", "content": None, "tool_calls": calls}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            return self.whole(200, {**head, "choices": [choice], "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.piece({**head, "choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
        self.piece({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def answer(self, asked, is_decision, words, pause):
        usage = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
        arguments = json.dumps({"text": words})
        call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "reply", "arguments": arguments}}
        message = {"role": "assistant", "tool_calls": [call]} if is_decision else {"role": "assistant", "content": words}
        head = {"id": "m", "object": "chat.completion", "created": 0, "model": "scripted"}
        if not asked.get("stream"):
            time.sleep(pause)
            return self.whole(200, {**head, "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage})
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        pieces = [arguments[at : at + 12] for at in range(0, len(arguments), 12)] if is_decision else [words]
        for number, piece in enumerate(pieces):
            function = {"arguments": piece} | ({"name": "reply"} if number == 0 else {})
            delta = {"tool_calls": [{"index": 0, "function": function}]} if is_decision else {"content": piece}
            if is_decision and number == 0:
                delta["tool_calls"][0] |= {"id": "c1", "type": "function"}
            self.piece({**head, "choices": [{"index": 0, "delta": delta}]})
            time.sleep(pause)
        self.piece({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def piece(self, value):
        self.wfile.write(b"data: " + json.dumps(value).encode() + b"\n\n")
        self.wfile.flush()

    def whole(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def texts(messages):
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, str):
            yield content
        else:
            yield from (part.get("text", "") for part in content)


def main():
    program, commands = os.path.abspath(sys.argv[1]), sys.argv[2:]
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    model_url = f"http://127.0.0.1:{model.server_port}"
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        env = {
            "PATH": os.environ["PATH"],
            "THINKD_LISTEN": f"127.0.0.1:{port}",
            "THINKD_MODEL": "scripted",
            "OPENAI_BASE_URL": model_url,
            "OPENAI_API_KEY": "sk-scripted",
        }
        log = open(os.path.join(folder, "log"), "w")
        server = subprocess.Popen([program], cwd=folder, env=env, stdout=log, stderr=log)
        try:
            wait_for(f"{url}/readyz", server)
            for command in commands:
                began = time.monotonic()
                client = {**os.environ, "DOOR_URL": url, "MODEL_URL": model_url, "DOOR_PID": str(server.pid)}
                done = subprocess.run(shlex.split(command), env=client, timeout=240)
                if done.returncode:
                    log.flush()
                    print(open(os.path.join(folder, "log")).read()[-4000:])
                    sys.exit(f"doors: failed: {command}")
                print(f"doors: ok: {command}, {time.monotonic() - began:.1f} s", flush=True)
        finally:
            server.terminate()
            server.wait(30)


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(url, server):
    for _ in range(300):
        if server.poll() is not None:
            sys.exit("doors: the server ended")
        try:
            urllib.request.urlopen(url, timeout=2).read()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("doors: the server is not ready")


if __name__ == "__main__":
    main()
