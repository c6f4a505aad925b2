#!/usr/bin/env python3
"""rules_judge.py: a chat endpoint on localhost that flags the steps of `slots` by the environment's own rules.

usage: python3 tests/judge/rules_judge.py PORT

For experiments with `judge.endpoint` (which trajectories are sent, what the others get) without a model. A search is GOOD if
it asks for a needed fact that is not known yet; an answer is GOOD if it is right or if no fact is missing. This judge knows
neither the tool's responses nor the limit on searches, so a wrong answer that was forced by the limit is BAD. PORT 0 takes a
free port. Prints its port and runs until it is killed.
"""
import http.server
import json
import re
import sys


def flags(trajectory):
    """Returns one flag for each step, from the text that a judge sees."""
    asked = re.search(r"Wanted: of (\S+) tell (.*)$", trajectory["task"])
    entity, wanted, found, out = asked[1], set(asked[2].split()), set(), []
    for step in trajectory["steps"]:
        words = step["action"].split()
        if words[:2] == ["search", entity] and words[2] in wanted - found:
            out.append("GOOD")
            if step.get("observation") != "nothing":
                found.add(words[2])
        else:
            answers = words[:1] == ["answer"]
            right = trajectory.get("outcome") == "success"
            out.append("GOOD" if answers and (right or not wanted - found) else "BAD")
    return out


class Endpoint(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        trajectory = json.loads(asked["messages"][1]["content"])
        steps = [{"index": i, "analysis": "by rule", "flag": flag} for i, flag in enumerate(flags(trajectory))]
        message = {"role": "assistant", "content": json.dumps({"steps": steps})}
        body = json.dumps({"choices": [{"index": 0, "finish_reason": "stop", "message": message}],
                           "usage": {"prompt_tokens": 0, "completion_tokens": 0}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        print(__doc__.strip(), file=sys.stderr)
        return 2
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Endpoint)
    print(server.server_port, flush=True)
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
