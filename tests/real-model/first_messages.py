"""Asks twenty different first messages of the real, small model at default settings, and prints the answers and times.

    tests/real-model/install.sh && cargo build --release
    .tools/real-model/bin/python tests/real-model/first_messages.py target/release/thinkd

Each message begins a conversation of its own. Ends with 1 unless all are answered. Wants a quiet machine: the times are those of
its processors.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

MESSAGES = [
    "hello",
    "Hi! Who are you?",
    "What is the capital of France?",
    "Write a haiku about rain.",
    "2 + 2?",
    "Erzähl mir einen Witz.",
    "Why is the sky blue?",
    "Translate 'good morning' into Spanish.",
    "I am sad today.",
    "List three fruits.",
    "What can you do?",
    "ok",
    "Summarize the plot of Hamlet in one sentence.",
    "How do I boil an egg?",
    "Write a function that adds two numbers in Python.",
    "Is it going to rain tomorrow?",
    "Please say exactly: banana",
    "¿Qué hora es?",
    "Give me a name for a black cat.",
    "Thanks, bye!",
]


def listening(process, words):
    """The address in the first line of a process that has these words."""
    for line in process.stdout:
        if words in line:
            return line.split(words)[1].split()[0]
    sys.exit(f"{process.args[0]} ended")


def main(binary):
    here = Path(__file__).parent
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    model = subprocess.Popen([sys.executable, here / "serve.py"], **pipes)
    url = listening(model, "listening on ")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("THINKD_", "OPENAI_", "DATABASE_URL"))}
    env = clean | {"THINKD_MODEL": "smollm2", "OPENAI_BASE_URL": f"{url}/v1", "THINKD_LISTEN": "127.0.0.1:0"}
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen([Path(binary).resolve()], cwd=folder, env=env, **pipes)
        try:
            address = listening(server, "listens on ")
            times = [answered(address, n, text) for n, text in enumerate(MESSAGES)]
        finally:
            server.terminate()
            server.wait()
            model.kill()
    there = [time for time in times if time is not None]
    print(f"{len(there)} of {len(MESSAGES)} answered; p50 {statistics.median(there):.1f} s, longest {max(there):.1f} s")
    return len(there) != len(MESSAGES)


def answered(address, number, text):
    """Says one message in a thread of its own; the seconds to its answer."""
    body = json.dumps({"text": text}).encode()
    request = urllib.request.Request(
        f"{address}/threads/first-{number}/messages?wait=300", body, {"content-type": "application/json"}
    )
    begun = time.monotonic()
    with urllib.request.urlopen(request, timeout=320) as response:
        outcome = json.load(response)
    took = time.monotonic() - begun
    words = [event["payload"]["text"] for event in outcome["responses"]]
    failures = [event["payload"]["text"] for event in outcome.get("failures", [])]
    print(f"{took:5.1f} s  {text!r}: {' | '.join(words)[:90]!r}" + "".join(f"\n         FAILED: {it[:160]}" for it in failures))
    return took if words else None


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
