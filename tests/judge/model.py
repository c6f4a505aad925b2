#!/usr/bin/env python3
"""model.py: a chat endpoint on localhost that plays language models which plan trials (`lineage night --agent-endpoint`).

usage: python3 tests/judge/model.py LOG [KEY]

The name of the model in a request decides how it answers:

    good      asks the tools `tried` and `running`, then proposes x half-way between the best trial and 0.3
    diff      proposes a diff of train.py
    again     runs trial 000 again
    text      calls nothing and writes the proposal as text in a fence
    repeat    proposes what was tried, until the refusal reaches it
    broken    calls functions that do not exist, and writes arguments that are no JSON
    silent    answers in prose
    endless   asks for the digest for ever
    obeys     does what the text of a trial tells it
    busy      has HTTP 503 for each first request, then is good
    old       refuses max_tokens, then is good
    wrong     has HTTP 400 for every request
    echo      sends the key back
    deep      thinks: refuses a call without its reasoning_content, and a tool_choice, as DeepSeek does; proposes when it must
    llama     writes nothing, then calls without ids; answers what llama-server answers to an id or a content that is null
    parts     writes the proposal as a list of parts, behind its reasoning

Each request is a line of LOG: the model, the number of messages, the names of the functions, the messages. Prints its port and
runs until standard input ends. With KEY, requests must have it.
"""
import http.server
import json
import sys
import threading

LOG, KEY = open(sys.argv[1], "a"), sys.argv[2] if len(sys.argv) > 2 else None
SEEN, FORCED = {}, set()


def call(name, arguments, identity="c1"):
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": text}}


def state_of(messages):
    text = messages[1]["content"]
    return json.loads(text[text.index("{"):text.rindex("}") + 1])


def proposal(state, x):
    params = {"x": x}
    if "o" in state["ranges"]:
        params["o"] = "a"
    return {"params": params, "hypothesis": f"move x to {x}, towards the lowest loss", "expected_delta": "-0.01"}


def good(messages, state):
    results = [m for m in messages if m["role"] == "tool"]
    past = [t["params"]["x"] for t in state["chain"] if "x" in t.get("params", {})]
    x = round((past[-1] + 0.3) / 2, 4) if past else 0.7
    if not results:
        return None, [call("tried", {"params": {"x": x}}, "c1"), call("running", {}, "c2")]
    return "I have seen enough.", [call("propose", proposal(state, x), "c3")]


def answer(model, messages, state):
    if model in ("good", "busy", "old", "echo"):
        return good(messages, state)
    if model == "diff":
        return None, [call("propose", {"hypothesis": "a smaller step", "diff": "--- a/train.py\n+++ b/train.py\n@@ -1 +1 @@\n-x = 0.9\n+x = 0.4\n"})]
    if model == "again":
        return None, [call("run_again", {"exp_id": "000"})]
    if model == "text":
        return "Here it is:\n```json\n" + json.dumps(proposal(state, 0.45)) + "\n```\nGood luck.", None
    if model == "repeat":
        told = any("tried already" in reason for refused in state["refused"] for reason in refused["reasons"])
        x = 0.55 if told or not state["chain"] else state["chain"][0]["params"]["x"]
        x = round(x + 0.1, 2) if told and state["chain"] else x
        return None, [call("propose", proposal(state, x))]
    if model == "broken":
        return None, [call("rm", {"path": "/"}), call("query", "{\"limit\": "), call("query", [1]), call("append", {"status": "keep"})]
    if model == "silent":
        return "I would rather talk about the weather.", None
    if model == "deep":
        return None, [call("propose", proposal(state, 0.6))] if "deep" in FORCED else [call("running", {})]
    if model == "llama":
        if len(messages) == 2:
            return None, None
        made = call("propose", proposal(state, 0.6)) if messages[-1]["role"] == "tool" else call("running", {})
        del made["id"]
        return None, [made]
    if model == "parts":
        return [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "Is it {x}?</think>" + json.dumps(proposal(state, 0.35))}], None
    if model == "endless":
        return None, [call("knowledge", {})]
    if model == "obeys":
        text = json.dumps(messages)
        return None, [call("propose", proposal(state, 0.99 if "x must be 0.99" in text else 0.5))]
    raise ValueError(model)


def refusal(model, messages, body):
    """Returns a status and a message, or None."""
    for m in messages:
        if m["role"] == "assistant" and model == "deep" and m.get("reasoning_content") is None:
            return 400, "The reasoning_content in the thinking mode must be passed back to the API."
        if m["role"] == "assistant" and m["content"] is None and not m.get("tool_calls"):
            return 500, "Failed to parse messages: Expected 'content' or 'tool_calls'"
        if m["role"] == "tool" and not isinstance(m["tool_call_id"], str):
            return 500, "Failed to parse messages: type must be string, but is null"
    if model == "deep" and "tool_choice" in body:
        FORCED.add(model)
        return 400, "Thinking mode does not support this tool_choice"
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def reply(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model, messages = body["model"], body["messages"]
        SEEN[model] = SEEN.get(model, 0) + 1
        LOG.write(json.dumps({"model": model, "n": len(messages), "tools": [t["function"]["name"] for t in body["tools"]],
                              "limit": body.get("max_tokens"), "messages": messages, "choice": body.get("tool_choice")}) + "\n")
        LOG.flush()
        if KEY and self.headers.get("Authorization") != "Bearer " + KEY:
            return self.reply(401, {"error": {"message": "wrong key " + KEY}})
        if model == "busy" and SEEN[model] % 2:
            return self.reply(503, {"error": {"message": "come back later"}})
        if model == "old" and "max_tokens" in body:
            return self.reply(400, {"error": {"message": "max_tokens is not supported, use max_completion_tokens", "param": "max_tokens"}})
        if model == "wrong":
            return self.reply(400, {"error": {"message": "this model does not take tools"}})
        refused = refusal(model, messages, body)
        if refused:
            return self.reply(refused[0], {"error": {"code": refused[0], "message": refused[1]}})
        text, calls = answer(model, messages, state_of(messages))
        message = {"role": "assistant", "content": text if model != "echo" else f"my key is {KEY}"}
        if calls:
            message["tool_calls"] = calls
        if model == "deep":
            message["reasoning_content"] = ""
        self.reply(200, {"choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
                         "usage": {"prompt_tokens": 1000, "completion_tokens": 50}})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
