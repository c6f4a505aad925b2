#!/usr/bin/env python3
"""teacher.py: completions on localhost that return log-probs of a prompt's tokens, as vLLM's server does (`echo`).

usage: python3 tests/judge/teacher.py LOG TOKEN_SCORES CHECKPOINT [KEY]

The log-probs are those of the checkpoint, by the program TOKEN_SCORES. The name of the model in a request decides what is wrong:

    good       nothing; there is a generated token behind each prompt
    backwards  the choices come in the opposite order
    together   no answer before a second request is there, at most two at a time
    half       the first request gets HTTP 400, and no other one an answer
    pauses     the eighth request waits until there is a file `go`, and is not answered
    busy       HTTP 503 for each first request, then good
    plain      the server does not know `echo`: no log-probs
    short      a log-prob is missing
    text       a log-prob is a text
    positive   a log-prob is 0.5
    infinite   a log-prob is too small for a number of JSON
    fewer      a choice is missing
    twice      two choices have the same index
    template   each prompt gets a first token
    usage      the server counts other tokens than it was sent
    prose      HTTP 200 with a text that is no JSON
    wrong      HTTP 400
    llama      HTTP 500, as llama-server answered to `echo`
    generated  log-probs of generated tokens only, in the form of chats, as llama-server (3f545bec) answers to `echo`
    key        HTTP 401, and the message has the key

Each request is a line of LOG: the model, the number of prompts, the number of tokens, a checksum. Prints its port and runs until standard
input ends. With KEY, requests must have it.
"""
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import zlib

LOG, KEY = open(sys.argv[1], "a"), sys.argv[4] if len(sys.argv) > 4 else None
SCORES = subprocess.Popen(sys.argv[2:4], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
LOCK, SEEN = threading.Lock(), set()
HALF = threading.Semaphore(1)
FLYING, MOST = threading.Condition(), [0, 0]  # requests of `together` in flight: now, and at most


def scores(tokens):
    SCORES.stdin.write(" ".join(map(str, tokens)) + "\n")
    SCORES.stdin.flush()
    return [None] + [float(word) for word in SCORES.stdout.readline().split()]


def choices(model, prompts):
    found = [{"index": i, "text": "", "finish_reason": "length",
              "logprobs": {"tokens": [], "token_logprobs": scores(tokens) + [-1.5]}} for i, tokens in enumerate(prompts)]
    last = found[-1]["logprobs"]["token_logprobs"]
    if model == "backwards":
        found.reverse()
    elif model == "plain":
        found[-1]["logprobs"] = None
    elif model == "generated":
        for choice in found:
            choice["logprobs"] = {"content": [{"id": 468, "token": "lo", "bytes": [108, 111], "logprob": -5.02, "top_logprobs": []}]}
    elif model == "short":
        del last[-2:]
    elif model in ("text", "positive", "infinite"):
        for i in range(1, len(last)):
            last[i] = {"text": "-1", "positive": 0.5, "infinite": -1e300}[model]
    elif model == "template":
        last.insert(0, -0.5)
    elif model == "fewer":
        found.pop()
    elif model == "twice":
        found[-1]["index"] = 0 if len(found) > 1 else 1
    return found


def answer(request):
    """Returns a status and a text."""
    model, prompts = request["model"], request["prompt"]
    assert request["echo"] is True and request["max_tokens"] == 1 and request["logprobs"] == 1, request
    first = (model, json.dumps(prompts)) not in SEEN
    SEEN.add((model, json.dumps(prompts)))
    if model == "pauses" and not os.path.exists("go") and sum(name == model for name, _ in SEEN) == 8:
        while not os.path.exists("go"):
            open("paused", "w").close()
            time.sleep(0.02)
        return 503, "{}"
    LOG.write(f"{model} {len(prompts)} {sum(map(len, prompts))} {zlib.crc32(json.dumps(prompts).encode())}\n")
    LOG.flush()
    if model == "busy" and first:
        return 503, "{}"
    if model == "half":
        return 400, json.dumps({"error": {"message": "one fails"}})
    if model == "prose":
        return 200, "I am a large language model."
    if model == "wrong":
        return 400, json.dumps({"error": {"message": "echo is not supported"}})
    if model == "llama":
        return 500, json.dumps({"error": {"code": 500, "message": "Only no echo is supported", "type": "server_error"}})
    if model == "key":
        return 401, json.dumps({"error": {"message": f"the key {KEY} is wrong"}})
    usage = {"prompt_tokens": sum(map(len, prompts)) + (model == "usage"), "completion_tokens": len(prompts)}
    return 200, json.dumps({"object": "text_completion", "choices": choices(model, prompts), "usage": usage})


def meet():
    """Waits until there were two requests at the same time. Returns whether there were never more."""
    with FLYING:
        MOST[0] += 1
        MOST[1] = max(MOST)
        FLYING.notify_all()
        FLYING.wait_for(lambda: MOST[1] > 1, timeout=120)
        MOST[0] -= 1
        return MOST[1] == 2


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        good = self.path == "/v1/completions" and (KEY is None or self.headers.get("Authorization") == f"Bearer {KEY}")
        request = json.loads(body)
        good = good and (request["model"] != "together" or meet())
        if request["model"] == "half" and not HALF.acquire(blocking=False):
            while self.connection.recv(1 << 16):  # until the client closes
                pass
            return
        with LOCK:
            status, text = answer(request) if good else (404, "{}")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
