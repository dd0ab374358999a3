#!/usr/bin/env python3
"""Draws chat.svg and turn.svg from the events of one turn of a real server.

    docs/pictures/make.py target/debug/thinkd FOLDER

The model is the script below, and no time, id or seq is drawn, so that the same build always draws the same bytes
(`.ci/run pictures` compares them). One submodule answers only when the decision has been asked: it is late.
"""
import http.server
import json
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import urllib.request
from html import escape
from pathlib import Path

SAID = "Can I leave the heat lamp on over the weekend?"
REPLY = "Better not: nobody would see it fail. Put it on a timer, and ask a neighbour to look in on Sunday."
VOICES = {
    "understanding": "They will be away for two days and want something kept warm.",
    "warmth": "They sound a little worried. Give one clear answer first.",
    "critic": "A heat lamp that nobody watches is a fire risk. That matters most.",
    "memory": "There is a note: the lamp is for two young tortoises.",
}
FOLLOW_UP = {"memory": "Remember to ask on Monday how the tortoises are."}
LATE = "memory"
decided = threading.Event()


class Model(http.server.BaseHTTPRequestHandler):
    """The scripted model: chat completions whose answer depends on who asks."""

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        view = asked["messages"][-1]["content"]
        if any(tool["function"]["name"] == "reply" for tool in asked.get("tools", [])):
            decided.set()
            call = {"name": "reply", "arguments": json.dumps({"text": REPLY})}
            message = {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]}
        else:
            voice = next(name for name in VOICES if f"You are the {name}." in view or f"You are {name}." in view)
            follows_up = "has been made" in view
            if voice == LATE and not follows_up:
                decided.wait(60)
            message = {"content": FOLLOW_UP.get(voice, "PASS") if follows_up else VOICES[voice]}
        answer = {"id": "1", "object": "chat.completion", "created": 0, "model": "scripted",
                  "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}],
                  "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def ask(base, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


def turn(binary):
    """The (who, kind, text) of each text event of one turn, in the order of the log."""
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("THINKD_", "OPENAI_", "DATABASE_URL"))}
    environment |= {"THINKD_LISTEN": listen, "THINKD_MODEL": "scripted", "OPENAI_API_KEY": "none", "THINKD_MODELS__LOW__STREAM": "false",
                    "OPENAI_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1", "THINKD_TURN__SUBMODULE_TIMEOUT_MS": "5000"}
    base = f"http://{listen}"
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([binary], cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            within(lambda: urllib.request.urlopen(base + "/readyz", timeout=5).status == 200)
            # Two of the voices come with a new space.
            known = {voice["name"] for voice in ask(base, "/submodules")["items"]}
            for name in VOICES.keys() - known:
                ask(base, "/submodules", {"name": name, "prompt": f"You are {name}. Say what {name} would say."})
            ask(base, "/threads/main/messages?wait=60", {"text": SAID})
            within(lambda: len(steps(base)) == 2 + len(VOICES) + len(FOLLOW_UP))
            return steps(base)
        finally:
            server.terminate()
            server.wait(30)


def within(done, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            if done():
                return
        except OSError:
            pass
        if time.monotonic() > end:
            sys.exit("the server did not come to the end of the turn")
        time.sleep(0.05)


def steps(base):
    found = []
    for event in ask(base, "/events?thread=main&order=asc&limit=100")["items"]:
        tags, text = event["meta"]["tags"], event["payload"].get("text", "")
        voice = next((tag.removeprefix("submodule:") for tag in tags if tag.startswith("submodule:")), None)
        if event["modality"] != "text":
            continue
        if "input" in tags:
            found.append(("you", "input", text))
        elif "response" in tags:
            found.append(("reply", "reply", text))
        elif "failure" not in tags and voice in VOICES:
            found.append((voice, "late" if "late" in tags else "follow-up" if "follow-up" in tags else "voice", text))
    order = ["input", "voice", "reply", "late", "follow-up"]
    names = ["you", *VOICES, "reply"]  # voices speak at the same time: which one is first differs from run to run
    return sorted(found, key=lambda step: (order.index(step[1]), names.index(step[0])))


COLOURS = {"input": "#1f4e8c", "voice": "#6b6b6b", "late": "#b06a00", "reply": "#1c7a3f", "follow-up": "#7a4fa3"}
BOXES = {  # the column where each begins, how many it takes, what it says
    "input": (0, 1, "message"), "voice": (1, 1, "remarks"), "late": (1, 2, "answers late"), "reply": (3, 1, "event"), "follow-up": (4, 1, "follows up"),
}


def svg(width, height, parts):
    style = "text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#222}.head{font-weight:bold}.small{font-size:12px;fill:#666}"
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n<style>{style}</style>\n'
            f'<rect width="{width}" height="{height}" rx="8" fill="#fcfcfa" stroke="#ddd"/>\n' + "\n".join(parts) + "\n</svg>\n")


def text(x, y, words, colour="#222", kind=""):
    return f'<text x="{x}" y="{y}" class="{kind}" style="fill:{colour}">{escape(words)}</text>'


def chat(found):
    parts, y = [], 34
    for who, kind, words in found:
        said = {"late": f"{who}, late", "follow-up": f"{who}, follow-up"}.get(kind, who)
        parts.append(text(24, y, said, COLOURS[kind], "head"))
        for line in textwrap.wrap(words, 66):
            parts.append(text(210, y, line, "#222" if kind in ("input", "reply") else "#666"))
            y += 20
        y += 10
    return svg(800, y, parts)


def lanes(found):
    columns = ["input", "submodules", "decision", "reply", "afterwards"]
    lane = ["you", *VOICES, "decision", "reply"]
    def left(i):
        return 150 + i * 130
    def top(name):
        return 56 + lane.index(name) * 40
    height = 56 + len(lane) * 40 + 16
    parts = [text(left(i), 30, name, "#666", "small") for i, name in enumerate(columns)]
    parts += [text(24, top(name) + 20, name) for name in lane]
    parts += [f'<line x1="140" x2="790" y1="{top(name) + 34}" y2="{top(name) + 34}" stroke="#eee"/>' for name in lane]
    parts.append(f'<line x1="{left(2) - 8}" x2="{left(2) - 8}" y1="40" y2="{height - 12}" stroke="#b06a00" stroke-dasharray="4 4"/>')
    parts.append(text(left(2) - 4, 46, "deadline", "#b06a00", "small"))
    def box(name, i, span, colour, words):
        parts.append(f'<rect x="{left(i)}" y="{top(name) + 2}" width="{130 * span - 14}" height="26" rx="5" fill="{colour}"/>')
        parts.append(text(left(i) + 8, top(name) + 20, words, "#fff", "small"))
    for who, kind, _ in found:
        at, span, words = BOXES[kind]
        box(who, at, span, COLOURS[kind], words)
    box("decision", 2, 1, "#333", "calls a tool")
    return svg(814, height, parts)


if __name__ == "__main__":
    binary, folder = os.path.abspath(sys.argv[1]), Path(sys.argv[2])
    found = turn(binary)
    (folder / "chat.svg").write_text(chat(found))
    (folder / "turn.svg").write_text(lanes(found))
