#!/bin/sh
# One would guess: dspy.Evaluate asks the language model each time it is called, so that three evaluations of a program at temperature 1.0 give
# three scores, whose spread is the noise.
# In fact answers are kept on the disk, by model, prompt and settings, and used again, also in the next process, and at any temperature: three
# evaluations of six questions send six requests, and a fourth one in another process sends none. The scores are equal to the last digit, and the
# standard error over them is 0.0. LM(.., cache=False) asks each time.
# Version: dspy 3.4.1, with a server on this machine in place of a model, whose answers alternate. Source: dspy/clients/lm.py, cache=True, and
# dspy/clients/cache.py.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile dspy==3.4.1
cat >"$dir/server.py" <<'END'
import http.server, json, os, sys
asked = 0

class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global asked
        asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        # Three of the first six answers are right, then three of each four, so that rounds of six differ in their scores.
        text = f"[[ ## answer ## ]]\n{int(asked % 4 in (0, 1, 3) if asked > 6 else asked % 2)}\n\n[[ ## completed ## ]]"
        message = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.send(json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [message], "usage": usage}))

    def do_GET(self):
        self.send(str(asked))

    def send(self, text):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *parts):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Model)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(server.server_port))
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
END
cat >"$dir/evaluate.py" <<'END'
import sys, urllib.request
import dspy
url = "http://127.0.0.1:" + open(sys.argv[1]).read()
times, cache, expected = int(sys.argv[2]), sys.argv[3] == "cache", sys.argv[4:]
dspy.configure(lm=dspy.LM("openai/m", api_base=url, api_key="none", temperature=1.0, **({} if cache else {"cache": False})))
questions = [dspy.Example(question=f"question {i}", answer="1").with_inputs("question") for i in range(6)]
evaluate = dspy.Evaluate(devset=questions, metric=lambda example, answer, trace=None: float(example.answer == answer.answer), num_threads=1,
                         display_progress=False)
seen = []
for _ in range(times):
    seen.append(str(evaluate(dspy.Predict("question -> answer")).score))
seen.append(urllib.request.urlopen(url).read().decode())
print("dspy", dspy.__version__, "default" if cache else "cache=False", "scores", *seen[:-1], "requests so far", seen[-1])
sys.exit(seen != expected)
END
"$dir/venv/bin/python" "$dir/server.py" "$dir/port" &
server=$!
trap 'kill "$server"; rm -rf "$dir"' EXIT
tries=0
while [ ! -e "$dir/port" ]; do
    tries=$((tries + 1))
    [ "$tries" -le 60 ] || exit 1
    sleep 1
done
evaluate()
{
    DSPY_CACHEDIR="$dir/cache" "$dir/venv/bin/python" -W ignore "$dir/evaluate.py" "$dir/port" "$@" 2>"$dir/err" || { cat "$dir/err"; exit 1; }
}
evaluate 3 cache 50.0 50.0 50.0 6
evaluate 1 cache 50.0 6
evaluate 2 no-cache 83.33 66.67 18
