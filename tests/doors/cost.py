"""The server's time on the processor for a turn through the door, beside one over native HTTP.

    python3 run.py PROGRAM "python3 cost.py"

Both have the same model, messages and threads of ten turns, in turns of their own. Then the cost of a
message behind 10 and behind 500 repeated exchanges.
"""

import json
import os
import time
import urllib.request

from door import BASE, URL

ROUNDS, TALKS, TURNS = 5, 4, 10
# The clock of another process on Linux, in nanoseconds: `clock_getcpuclockid`.
CLOCK = (~int(os.environ["DOOR_PID"]) << 3) | 2


def used():
    return time.clock_gettime(CLOCK)


def post(address, body):
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return json.load(response)


def native(name):
    for turn in range(TURNS):
        post(f"{URL}/threads/{name}/messages?wait=30", {"text": f"{name} {turn}"})


def door(name):
    messages = []
    for turn in range(TURNS):
        messages.append({"role": "user", "content": f"{name} {turn}"})
        answer = post(f"{BASE}/chat/completions", {"model": "thinkd", "messages": messages})
        messages.append(answer["choices"][0]["message"])


def cost(talk, name):
    begun = used()
    for number in range(TALKS):
        talk(f"{name}-{number}")
    time.sleep(0.5)  # follow-ups
    return (used() - begun) / (TALKS * TURNS) * 1000


def behind(exchanges):
    """Milliseconds of the processor for one message behind so many exchanges that the log has."""
    messages = []
    for number in range(exchanges):
        messages.append({"role": "user", "content": f"{exchanges} q{number} " + "w" * 200})
        messages.append({"role": "assistant", "content": f"a{number} " + "w" * 200})
    messages.append({"role": "user", "content": "first"})
    answer = post(f"{BASE}/chat/completions", {"model": "thinkd", "messages": messages})
    begun, times = used(), 20
    for number in range(times):
        messages += [answer["choices"][0]["message"], {"role": "user", "content": f"more {number}"}]
        answer = post(f"{BASE}/chat/completions", {"model": "thinkd", "messages": messages})
    time.sleep(0.5)
    return (used() - begun) / times * 1000


cost(native, "warm"), cost(door, "warm-door")
natives, doors = [], []
for number in range(ROUNDS):
    natives.append(cost(native, f"n{number}"))
    doors.append(cost(door, f"d{number}"))
ratios = sorted(one / other for one, other in zip(doors, natives))
print(f"a turn: native {min(natives):.1f} ms, door {min(doors):.1f} ms; ratio {ratios[len(ratios) // 2]:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
short, long = behind(10), behind(500)
print(f"a message behind 10 exchanges {short:.1f} ms, behind 500 {long:.1f} ms; ratio {long / short:.2f}")
