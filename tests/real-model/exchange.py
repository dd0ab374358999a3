"""What the servers of models here share: JSON asked and answered over HTTP, on loopback."""

import http.server
import json
import threading


class Exchange(http.server.BaseHTTPRequestHandler):
    """Answers a POST with what `answer` makes of it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(self.answer(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(handler, port=0):
    """Serves beside whatever else goes on; the address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
