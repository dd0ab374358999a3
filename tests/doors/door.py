"""The server as the scripts of clients look at it: its threads and their inputs."""

import json
import os
import time
import urllib.request

URL = os.environ["DOOR_URL"]
BASE = f"{URL}/v1"


def get(address):
    with urllib.request.urlopen(address, timeout=20) as response:
        return json.load(response)


def decisions():
    return get(os.environ["MODEL_URL"])["decisions"]


def inputs(thread):
    page = get(f"{URL}/events?thread={thread}&tags=input&order=asc&limit=500")
    return [event["payload"].get("text") for event in page["items"]]


def conversations():
    return {row["id"]: row["first"]["text"] for row in get(f"{URL}/threads?lines=true&limit=100")["items"] if row.get("first")}


def thread_of(words):
    """The threads whose first words are these."""
    return [thread for thread, first in conversations().items() if first == words]


def until(holds, what):
    for _ in range(400):
        if holds():
            return
        time.sleep(0.05)
    raise SystemExit(f"it did not come to this: {what}")


def outcomes(thread):
    page = get(f"{URL}/events?thread={thread}&tags=ended&order=asc")
    return [event["payload"]["outcome"] for event in page["items"]]
