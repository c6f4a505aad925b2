import json, random, sys  # one setting of the best trial, changed; or what the proposer would try

told = json.load(sys.stdin)
best = told["chain"][-1] if told["chain"] else {"params": told["suggestions"][0], "exp_id": "base"}
name = random.choice([n for n in told["ranges"] if "low" in told["ranges"][n]])
range_ = told["ranges"][name]
value = min(range_["high"], max(range_["low"], best["params"][name] * random.choice([0.5, 0.8, 1.25, 2])))
params = {n: best["params"][n] for n in told["ranges"]} | {name: round(value, 5)}
print(json.dumps({"params": params, "parent": best["exp_id"], "expected_delta": -0.01,
                  "hypothesis": f"the best so far with {name} {value:.3g}"}))
