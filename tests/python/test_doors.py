"""The same questions through every door: the command, MCP, SQL, and this package, which calls the C library. Each store is generated:
with void trials and trials that count again, replicas, parents or none, an imported log, parameters named like columns, texts that
are shown with other signs, parents as pandas writes them."""

import csv
import io
import json
import os
import random
import re
import subprocess
import warnings

import pytest

from lineage import Store, StoreError

LINEAGE = os.environ.get("LINEAGE", "lineage")
STORES, QUESTIONS = 20, 60
NAMES = {
    "lr": [1e-4, 0.2, 0.3], "opt": ["adam", "sgd"], "target": ["q|v", "k"], "domain": ["math", "code"], "train_s": [60.0, 90.0],
    "amp": [True, False, None], "layers": [[1, 2], [3]], "said": ['a "b"', "it's", " c=d"], "n": [64, -0.0, 0, 1.5e-3, 1e22],
}  # fmt: skip


def text_of(value):
    """The text that a row has for a value that is neither a number nor a text."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, separators=(",", ":")) if isinstance(value, list) else value


def option_of(name, value):
    value = text_of(value)
    if isinstance(value, str) and (set(value) & set("'\",= ")):
        value = "'" + value.replace("'", "''") + "'"
    return f"--param={name}={value}"


def command(path, *words):
    done = subprocess.run([LINEAGE, *words, "-C", path], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def generate(path, rng, kind):
    """Returns the ids."""
    ids, rows = [], []
    parents = rng.random() < 0.7
    for i in range(rng.randrange(6, 16)):
        params = {name: rng.choice(values) for name, values in NAMES.items() if rng.random() < 0.5}
        row = {"exp_id": f"{i:03d}", "params": params, "hypothesis": f"idea {i}", "score": round(rng.uniform(1, 9), 3)}
        row["status"] = rng.choice(["keep", "keep", "discard", "crash", "harness_abort"]) if i else "baseline"
        if row["status"] in ("crash", "harness_abort"):
            del row["score"]
        if rng.random() < 0.2:
            row["domain"] = rng.choice(NAMES["domain"])
        if parents and ids:
            row["parent"] = rng.choice(ids)
        if ids and rng.random() < 0.2:
            row["notes"] = f"replicate of {rng.choice(ids)}"
        ids.append(row["exp_id"])
        rows.append(row)
    with Store(path, create=True, direction="higher", score_name="val_loss") as store:
        for row in rows:
            store.append(**row)
    if kind == "imported":
        log = os.path.join(path, "results.tsv")
        text = open(log, encoding="utf-8").read().split("\n")
        at = text[0].split("\t").index("parent_exp")
        for k in range(1, len(text) - 1):
            cells = text[k].split("\t")
            cells[at] = f"{int(cells[at])}.0" if cells[at] else ""
            text[k] = "\t".join(cells)
        other = path + ".tsv"
        with open(other, "w", encoding="utf-8") as out:
            out.write("\n".join(text))
        path += "-imported"
        subprocess.run([LINEAGE, "init", path, "--from", other, "--direction", "higher"], check=True, capture_output=True)
        settings = json.load(open(os.path.join(path, "lineage.json"), encoding="utf-8"))
        json.dump({**settings, "score": "val_loss"}, open(os.path.join(path, "lineage.json"), "w", encoding="utf-8"))
    with Store(path) as store:
        for exp_id in ids:
            if rng.random() < 0.15:
                store.void(exp_id, "broken")
                if rng.random() < 0.3:
                    store.unvoid(exp_id)
    return path, ids


class Mcp:
    def __init__(self, path):
        self.calls = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}]  # fmt: skip
        self.path = path

    def ask(self, tool, **arguments):
        self.calls.append({"jsonrpc": "2.0", "id": len(self.calls), "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
        return len(self.calls) - 1

    def write(self, tool, **arguments):
        self.ask(tool, **arguments)
        return self.answers()[1]

    def answers(self):
        text = "".join(json.dumps(call) + "\n" for call in self.calls)
        done = subprocess.run([LINEAGE, "mcp", "--allow-write", "-C", self.path], input=text, capture_output=True, text=True, check=True)
        results = {answer["id"]: answer["result"] for answer in map(json.loads, done.stdout.splitlines())}
        return {i: result.get("structuredContent", result.get("content")) for i, result in results.items()}


def ids_of(page):
    return [page["same"]["exp_id"] if "exp_id" in page.get("same", {}) else row[page["columns"].index("exp_id")] for row in page["rows"]]


# The values of parameters that a trial declares or, with {depth} above 0, has from the nearest ancestor that declares one.
IN_FORCE = """(WITH RECURSIVE up(seq, parent, depth) AS (
    SELECT trials.seq, trials.parent_exp, 0
    UNION ALL SELECT p.seq, p.parent_exp, depth + 1 FROM up JOIN trials p ON p.exp_id = up.parent AND p.seq < up.seq)
    SELECT value FROM up JOIN param_rows USING (seq) WHERE key = '{name}' AND depth <= {depth} ORDER BY depth LIMIT 1)"""


def sql_where(params):
    """A question about several parameters finds trials that declare one of them, and have the others from their parents."""
    names = [name for name in params if name not in ("domain", "train_s")]  # columns are not inherited
    depth = 1000 if len(names) > 1 else 0
    parts = [f"seq IN (SELECT seq FROM param_rows WHERE key IN ({', '.join(map(repr, names))}))"] if depth else []
    for name, value in params.items():
        value = text_of(value)
        literal = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else repr(float(value))
        of_param = f"{IN_FORCE.format(name=name, depth=depth if name in names else 0)} = {literal}"
        parts.append(f"({of_param} OR {name} = {literal})" if name not in names else of_param)
    return " AND ".join(parts)


def wanted(rng):
    names = rng.sample(list(NAMES), rng.choice([1, 1, 2]))
    return {name: rng.choice(NAMES[name]) for name in names}


@pytest.mark.parametrize("number", range(STORES))
def test_every_door_gives_the_same_answer(tmp_path, number):
    rng = random.Random(number)
    path, ids = generate(str(tmp_path / "s"), rng, "imported" if number % 4 == 3 else "")
    mcp, checks = Mcp(path), []
    with Store(path) as store:
        known = {name for row in store for name in row["params"]}
        for _ in range(QUESTIONS):
            kind = rng.choice(["unknown", "tried", "query", "chain", "find", "best", "sweep", "knobs", "similar", "settings", "forms"])
            if kind in ("tried", "query"):
                params = wanted(rng)
                if kind == "query":  # there, a list names several values
                    params = {name: value for name, value in params.items() if not isinstance(value, list)}
                if not params or not set(params) <= known:
                    continue
                given = [option_of(name, value) for name, value in params.items()]
                shown = {name: value.replace("|", "∣") if isinstance(value, str) else value for name, value in params.items()}
                rows = store.tried(params) if kind == "tried" else store.query(where=params)
                expected = [row["exp_id"] for row in rows]
                out = command(path, kind, *given, "--format", "json")
                assert [row["exp_id"] for row in json.loads(out or "[]")] == expected, (kind, params, "command")
                sql = f"SELECT exp_id FROM trials WHERE {sql_where(params)}" + (" AND status <> 'harness_abort'" if kind == "tried" else "")
                out = command(path, "sql", sql + " ORDER BY seq", "--format", "json")
                assert [row["exp_id"] for row in json.loads(out)] == expected, (kind, params, "sql")
                called = mcp.ask("tried", params=shown) if kind == "tried" else mcp.ask("query", where=shown)
                checks.append((called, lambda page, e=expected: sorted(ids_of(page)) == sorted(e), (kind, params)))
            elif kind == "unknown":  # a name that no trial has, or that of the score
                name = rng.choice(["zqxwv", "val_loss"])
                with pytest.warns(UserWarning, match=f"no column or parameter '{name}'") as said:
                    assert store.tried({name: 3}) == []
                assert ("the name of the score" in str(said[0].message)) == (name == "val_loss")
                done = subprocess.run([LINEAGE, "tried", f"-p{name}=3", "-C", path], capture_output=True, text=True, check=False)
                assert (done.returncode, done.stderr) == (2, f"lineage: {said[0].message}\n")
                near = {"val_loss": "score", "zqxwv": None}[name]
                checks.append((mcp.ask("tried", params={name: 3}), lambda page, w={name: near}: page["unknown"] == w, ("unknown", name)))
            elif kind == "chain":
                exp_id = rng.choice(ids)
                expected = [row["exp_id"] for row in store.chain(exp_id)]
                chain = json.loads(command(path, "chain", exp_id, "--format", "json"))["chain"]
                assert [row["exp_id"] for row in chain] == expected, exp_id
                checks.append((mcp.ask("chain", id=exp_id), lambda page, e=expected: ids_of(page) == e, ("chain", exp_id)))
            elif kind == "find":
                exp_id = str(int(rng.choice(ids)))  # without its zeros
                row = store.find(exp_id)
                shown = json.loads(command(path, "show", exp_id, "--format", "json"))
                keys = ("exp_id", "status", "parent_exp", "score")
                assert [shown[key] for key in keys] == [row[key] for key in keys], exp_id
                [value] = json.loads(command(path, "sql", f"SELECT status, score FROM trials WHERE exp_id = '{row['exp_id']}'", "--format", "json"))
                assert value == {"status": row["status"], "score": row["score"]}
                check = lambda page, r=row: (page["trial"]["exp_id"], page["trial"]["status"]) == (r["exp_id"], r["status"])  # noqa: E731
                checks.append((mcp.ask("trial", id=exp_id), check, ("find", exp_id)))
            elif kind == "best":
                expected = store.best_id()
                if expected is not None:
                    assert json.loads(command(path, "best", "--format", "json"))["exp_id"] == expected
                    checks.append((mcp.ask("best"), lambda page, e=expected: e in json.dumps(page), ("best",)))
            elif kind == "sweep":
                name = rng.choice(sorted(known)) if known else "lr"
                try:
                    cells = {(cell[name], cell["count"]) for cell in store.sweep(name)}
                except Exception:
                    continue
                out = json.loads(command(path, "sweep", name, "--format", "json"))
                found = out if isinstance(out, list) else out.get("cells", out)
                assert len(found) == len(cells), (name, found, cells)
                check = lambda page, c=cells: {(row[0], row[1]) for row in page["rows"]} == c  # noqa: E731
                checks.append((mcp.ask("sweep", x=name), check, ("sweep", name)))
            elif kind == "knobs":
                tries = {one["name"]: sorted((t["exp_id"], t["to"]) for t in one["tries"]) for one in store.knobs()}
                if tries:
                    name = rng.choice(sorted(tries))
                    found = json.loads(command(path, "knobs", name, "--format", "json"))
                    assert sorted((t["exp_id"], t["to"]) for t in found["tries"]) == tries[name], name
                    check = lambda page, e=tries[name]: sorted((t[1], t[0].replace("∣", "|")) for t in page["knobs"][0]["tries"]) == e  # noqa: E731
                    checks.append((mcp.ask("knobs", name=name), check, ("knobs", name)))
            elif kind == "similar":
                idea = f"lr={rng.choice(NAMES['lr'])}"
                expected = [(one["exp_id"], one["same"]) for one in store.similar(idea)]
                found = json.loads(command(path, "similar", idea, "--format", "json") or "[]")
                assert [(one["exp_id"], one["same"]) for one in found] == expected, idea
                check = lambda page, e=expected: [(one["exp_id"], one["same"]) for one in page["trials"]] == e  # noqa: E731
                checks.append((mcp.ask("similar", idea=idea, limit=10), check, ("similar", idea)))
            elif kind == "settings":
                found = json.loads(command(path, "settings", "--format", "json") or "[]")
                keys = ("exp_id", "mean", "margin", "expected", "left_out", "failed")
                assert [tuple(one[key] for key in keys) for one in found] == [tuple(one[key] for key in keys) for one in store.settings()]
            elif kind == "forms":
                rows = [(row["exp_id"], row["score"]) for row in store.query(status=["keep", "discard", "baseline"])]
                labels = ("query", "--status", "keep,discard,baseline", "--format")
                assert [(row["exp_id"], row["score"]) for row in json.loads(command(path, *labels, "json") or "[]")] == rows
                for form, separator in (("csv", ","), ("tsv", "\t")):
                    cells = list(csv.DictReader(io.StringIO(command(path, *labels, form)), delimiter=separator))
                    assert [(row["exp_id"], float(row["score"])) for row in cells] == rows, form
        assert len(checks) > QUESTIONS / 4
        answers = mcp.answers()
        for called, check, what in checks:
            assert answers[called] is not None and check(answers[called]), (what, answers[called])
        block = store.render(sections="chain")
        best = store.best_id()
        voids = {one["exp_id"] for one in store.voids()}
        n = sum(not row["job_name"].startswith("lineage-") and row["exp_id"] not in voids for row in store)
        count = f" {n} trial{'s' * (n != 1)}" + f" and {len(voids)} void" * bool(voids)
        assert count in block and count in command(path, "render"), (count, block[:300])
        command(path, "report", "--output", path + ".html")
        page = open(path + ".html", encoding="utf-8").read()
        assert f"<dt>trials</dt><dd>{n}</dd>" in page
        assert re.findall("<dt>void</dt><dd>(.*?)</dd>", page) == [str(len(voids))] * bool(voids)
        for row in store.chain(best) if best else ():
            assert f"exp_{row['exp_id']} [" in block, (row["exp_id"], block)
        assert command(path, "verify").startswith("checked: ")


def test_a_race_and_its_threshold(tmp_path):
    """Settings by their means, the best of them and the improvement that is needed, after a night with --race."""
    path, sweep = str(tmp_path / "s"), tmp_path / "race.json"
    awk = "awk -v s={seed} -v x={x} 'BEGIN { srand(s * 7 + x); rand(); print \"loss: \" 1 + x / 4 + rand() }'"
    sweep.write_text(json.dumps({"name": "race", "direction": "lower", "metrics": ["loss"], "grid": {"x": [0, 1, 2, 3]}, "command": awk}))
    command(path, "night", str(sweep), "-q", "--race", "6")
    with Store(path) as store:
        rows, settings = list(store.query()), store.settings()
        assert 4 < len(rows) <= 4 + 6 and sum(one["n"] for one in settings) == len(rows)
        assert [one["exp_id"] for one in settings] == [one["exp_id"] for one in json.loads(command(path, "settings", "--format", "json"))]
        assert store.best_id() == json.loads(command(path, "best", "--format", "json"))["exp_id"]
        block = store.render()
        needed = block.split("beats the best by more than ")[1].split(" ")[0]
        assert f"by more than {needed} " in command(path, "render")
        assert f"by more than {needed} " in (tmp_path / "s" / "KNOWLEDGE.md").read_text()
        last = store.append(hypothesis="worse", status="auto", score=9.0)
        row = store.find(last if isinstance(last, str) else last["exp_id"])
        assert row["status"] == "discard" and f"needs less than -{needed}" in row["notes"]


def noise_of(path):
    return json.load(open(os.path.join(path, "lineage.json"), encoding="utf-8")).get("noise_std", 0)


def append_by(door, path, **row):
    if door == "python":
        with Store(path) as store:
            return store.append(**row)
    if door == "command":
        words = [f"--param={name}={value}" for name, value in row.pop("params").items()]
        return command(path, "append", *words, *(f"--{name.replace('score', 'core-metric')}={value}" for name, value in row.items()))
    return Mcp(path).write("append", core_metric=row.pop("score"), specialist="s", hypothesis="x", **row)


def test_a_parent_is_named_without_its_zeros_at_each_door(tmp_path):
    for door in ("command", "mcp", "python"):
        path = str(tmp_path / door)
        Store(path, create=True, direction="lower").close()
        for parent in ({}, {"parent": "0"}, {"parent": "1"}):
            append_by(door, path, status="auto", score=1.0, params={"x": 1}, **parent)
        with Store(path) as store:
            assert [row["parent_exp"] for row in store] == ["", "000", "001"], door
            with pytest.raises(StoreError, match="parent_exp '7' is not in"):
                store.append(status="auto", score=1.0, parent="7")


def test_what_models_write_for_numbers_and_ids(tmp_path):
    """A text that is written as its number is that number; one that may be a version, an id or a hash stays the text."""
    path = str(tmp_path / "s")
    Store(path, create=True, direction="lower").close()
    with Store(path) as store:
        store.append(status="auto", score=1.0, params={"lr": 0.2})
        mcp = Mcp(path)
        store.append(status="auto", score=1.0, params={"schedule.step": 10, "lr": "0.4"})
        texts = {"v": "1.10", "sha": "12e5", "id": "007", "blank": " 3", "tiny": "1e-400", "point": "1.0"}
        store.append(status="auto", score=1.0, params={"release": "1.1"})
        texts |= {"wide": "12345678901234567890", "version": "1.10.2", "release": "1.2"}
        params = {"lr": "0.2", "opt": {"eps": "1e-8", "wd": "2.5e-4"}, "n": "-20", "amp": True}
        mcp.ask("append", status="auto", core_metric="1.5", specialist="s", hypothesis="x", params=params, metrics={"gap": "2.50"})
        mcp.ask("append", status="auto", core_metric=1.5, specialist="s", hypothesis="y", params=texts)
        tried = mcp.ask("tried", params={"lr": "0.2"})
        leased = [mcp.ask("lease", agent=agent, params={"lr": value}) for agent, value in (("a", "0.35"), ("b", 0.35))]
        leased += [mcp.ask("lease", agent=agent, params={"v": "1.20"}) for agent in "ab"]
        same = [mcp.ask("tried", params={name: text}) for name, text in texts.items() if name != "blank"]
        shown = mcp.ask("insight", text="it holds", evidence=[0, "001"])
        unknown = mcp.ask("insight", text="it holds", evidence=[-1])
        inside = [mcp.ask("suggest", ranges={"opt": {"lr": "0.1:0.3"}}), mcp.ask("query", where={"opt": {"eps": "1e-9:1e-7"}})]
        kept = [mcp.ask("tried", params={"lr": "0.4"}), mcp.ask("query", where={"schedule": {"step": 10}})]
        refused = [mcp.ask("suggest", ranges={"lr": {"low": 0.01, "high": 1}}), mcp.ask("query", where={"lr": {"min": 0.1}})]
        answers = mcp.answers()
        row = store["003"]
        assert [ids_of(answers[one]) for one in kept] == [["001"], ["001"]]
        assert row["params"] == {"lr": 0.2, "opt.eps": 1e-8, "opt.wd": 2.5e-4, "n": -20, "amp": "true"}
        assert store["004"]["params"] == texts
        assert all("004" in ids_of(answers[one]) for one in same)
        assert "must be a list of texts" in answers[unknown][0]["text"]
        assert "opt.lr" in str(answers[inside[0]]) and ids_of(answers[inside[1]]) == ["003"]
        assert row["metrics"] == {"gap": 2.5}
        assert sorted(ids_of(answers[tried])) == ["000", "003"]
        assert [answers[one]["leased"] for one in leased] == [True, False, True, False]
        assert answers[shown]["insight"] == 1
        for one in refused:
            assert 'lr must be a number, a range "LOW:HIGH" or text' in answers[one][0]["text"]
        assert [row["exp_id"] for row in store.tried(lr=0.2)] == ["000", "003"]


def void_by(door, path, exp_id):
    if door == "python":
        with Store(path) as store:
            return store.void(exp_id, "broken")
    return command(path, "void", exp_id, "--reason", "broken") if door == "command" else Mcp(path).write("void", id=exp_id, reason="broken")


def test_noise_is_measured_whichever_door_appends_and_voids(tmp_path):
    floors = {}
    for door in ("command", "mcp", "python"):
        path = str(tmp_path / door)
        Store(path, create=True, direction="lower").close()
        for seed, score in enumerate([3.0, 3.2, 3.1, 3.6]):
            append_by(door, path, status="auto", score=score, params={"x": 1, "seed": seed})
        before = noise_of(path)
        if door == "python":
            with pytest.warns(UserWarning, match=r"the noise floor is now 0\.1 from 3 seeds.*; it was 0\.263"):
                void_by(door, path, "003")
        else:
            void_by(door, path, "003")
        floors[door] = (before, noise_of(path))
    assert floors["command"][0] > 0.2 > floors["command"][1] > 0, floors
    assert set(floors.values()) == {floors["command"]}


def test_a_floor_that_moves_is_said_in_python_as_by_the_command(tmp_path):
    """tests/cli/settings.sh has the same rows for the command and MCP."""
    path = str(tmp_path / "s")
    Store(path, create=True, direction="lower").close()
    with Store(path) as store:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for seed in (1, 2):
                store.append(status="discard", score=1.1 + seed / 100, params={"x": 1, "seed": seed})
        with pytest.warns(UserWarning, match="the noise floor is now 3.27 from 5 seeds, 95 % interval 1.85 to 12.2; it was 0.00707$"):
            store.append(status="discard", score=1.2, params={"x": 2}, notes="mean of 3 seeds, std 4")


def test_settings_without_a_score_are_listed_at_each_door(tmp_path):
    """The failed seeds of a setting count against it, void ones do not, and a setting that only failed comes last."""
    path = str(tmp_path / "s")
    Store(path, create=True, direction="lower").close()
    with Store(path) as store:
        store.append(status="crash", notes="reason: out of memory; more", params={"x": 3, "seed": 1})  # 000, and 001 succeeds
        store.append(status="discard", score=1.0, params={"x": 3, "seed": 2})
        for seed in (1, 2, 3):
            store.append(status="train_budget_overrun", params={"x": 6, "seed": seed})  # 002 to 004
        store.append(status="harness_abort", params={"x": 7})
        store.append(status="crash", params={"x": 8})  # 006, which 007 repeats without a word
        store.append(status="discard", score=1.2, params={"x": 8})
        store.append(status="crash", notes="out of memory; node 7")  # 008: nothing is known of its setting
        store.append(status="crash", params={"x": 9})
        store.append(status="discard", score=1.3, notes="replicates 009")
        store.void("004", "the node was broken")
        rows = [(one["exp_id"], one["n"], one["mean"], one["failed"]) for one in store.settings()]
        failed = [one for one in store.settings() if not one["n"]]
    assert sorted(rows[:3]) == [("001", 1, 1.0, 1), ("007", 1, 1.2, 0), ("010", 1, 1.3, 0)], rows
    assert rows[3:] == [("002", 0, None, 2), ("005", 0, None, 1), ("008", 0, None, 1)], rows
    assert [(one["last_id"], one["status"]) for one in failed] == [("003", "train_budget_overrun"), ("005", "harness_abort"), ("008", "crash")]
    done = subprocess.run([LINEAGE, "settings", "-C", path, "--format", "json"], capture_output=True, text=True, check=True)
    assert [(one["exp_id"], one["runs"], one["mean"], one["failed"]) for one in json.loads(done.stdout)] == rows
    assert "lineage: x=6 has no score: 2 runs failed; the newest, 003: train_budget_overrun\n" in done.stderr
    assert "lineage: 008 has no score: 1 run failed, 008: crash: out of memory\n" in done.stderr
    command(path, "append", "--status", "discard", "--core-metric", "1.1", "--param=x=3", "--param=seed=4")
    page = Mcp(path).write("best")
    assert [(one["setting"], one["failed"]) for one in page["without_score"]] == [("x=6", 2), ("x=7", 1), ("008", 1)]
    assert [one.get("reason") for one in page["without_score"]] == [None, None, "out of memory"]


def test_settings_without_a_score_are_listed_where_nothing_is_known_or_much(tmp_path):
    """Without any trial that ran twice, without a kept trial, and where a row that is neither new nor good has the score."""
    path = str(tmp_path / "s")
    Store(path, create=True, direction="lower").close()
    with Store(path) as store:
        store.append(status="discard", score=9.0, params={"x": 1})
        store.append(status="crash", notes="as planned | out of memory; node 7", params={"x": 2})
    done = subprocess.run([LINEAGE, "settings", "-C", path], capture_output=True, text=True, check=True)
    assert "lineage: x=2 has no score: 1 run failed, 001: crash: out of memory" in done.stderr, done.stderr
    [said] = Mcp(path).write("best")
    assert '; without a score: [{"setting":"x=2","exp_id":"001",' in said["text"], said
    columns = (tmp_path / "s" / "results.tsv").read_text().splitlines()[0].split("\t")
    with open(tmp_path / "s" / "results.tsv", "a") as log:
        for i in range(2, 1202):
            row = {"exp_id": f"{i:03}", "status": "keep", "core_metric": f"{9 - i / 1000}", "notes": f"x={i + 1}", "timestamp": "2026-01-01T00:00:00Z"}
            log.write("\t".join(row.get(name, "") for name in columns) + "\n")
    with Store(path) as store:
        store.append(status="crash", params={"x": 1})
    assert [(one["setting"], one["failed"]) for one in Mcp(path).write("best")["without_score"]] == [("x=2", 1)]


def test_a_warning_that_is_an_error_names_the_row(tmp_path):
    with Store(tmp_path / "s", create=True, direction="lower") as store:
        for seed in (1, 2):
            store.append(status="discard", score=1.1 + seed / 100, params={"x": 1, "seed": seed})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="^002 is in the log; the noise floor is now 3.27") as caught:
                store.append(status="discard", score=1.2, params={"x": 2}, notes="mean of 3 seeds, std 4")
            assert caught.value.row["exp_id"] == "002"
            with pytest.raises(UserWarning, match="is in the log; ") as caught:
                store.void("002", "broken")
            assert caught.value.row["parent_exp"] == "002"


def test_a_store_that_cannot_be_created_leaves_no_directory(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "s", tmp_path / "file" / "a" / "s"):
        with pytest.raises(StoreError):
            Store(path, create=True, direction="lower")
    with pytest.raises(StoreError, match="noise"):
        Store(tmp_path / "new" / "s", create=True, direction="lower", noise_std=-1.0)
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_the_block_names_a_setting_by_the_row_that_best_shows(tmp_path):
    """A setting whose second run was kept: best shows that row, and so does the list of settings in the block."""
    path = str(tmp_path / "s")
    Store(path, create=True, direction="lower").close()
    with Store(path) as store:
        for status, score, params in (("baseline", 2.0, {"x": 0, "seed": 1}), ("discard", 1.1, {"x": 1, "seed": 1}),
                                      ("keep", 1.0, {"x": 1, "seed": 2}), ("discard", 2.1, {"x": 0, "seed": 2})):  # fmt: skip
            store.append(status=status, score=score, params=params)
        assert store.best_id() == "002"
        [listed] = [line for line in store.render().splitlines() if line.startswith("- **settings**")]
    assert "exp_002" in listed and "exp_001" not in listed, listed


def test_the_block_calls_no_combination_untried_that_a_trial_inherited(tmp_path):
    path = str(tmp_path / "s")
    Store(path, create=True, direction="lower").close()
    with Store(path) as store:
        store.append(status="baseline", score=1.0, params={"lr": 0.1, "opt": "adam"})
        store.append(status="keep", score=0.9, parent="000", params={"lr": 0.2})
        store.append(status="keep", score=0.8, parent="001", params={"opt": "sgd"})  # with the 0.2 of 001
        store.append(status="discard", score=1.5, params={"lr": 0.3, "opt": "lion"})
        [line] = [line for line in store.render().splitlines() if line.startswith("- untried lr × opt")]
        assert line.startswith("- untried lr × opt (5 of 9): "), line
        for cell in line.split("): ")[1].split(", "):
            lr, opt = cell.split("×")
            assert not store.tried(lr=float(lr), opt=opt), cell


def test_a_column_of_texts_is_asked_for_texts_and_not_for_numbers(tmp_path):
    path = str(tmp_path / "s")
    with Store(path, create=True, direction="lower") as store:
        store.append(status="keep", score=1.0, params={"lr": 0.1}, hypothesis="wider", specialist="ada")
        mcp, asked = Mcp(path), ({"status": "keep", "lr": 0.1}, {"hypothesis": "wider"}, {"specialist": "ada"})
        for params in asked:
            assert [row["exp_id"] for row in store.tried(params)] == ["000"], params
            out = command(path, "tried", *(option_of(name, value) for name, value in params.items()), "--format", "json")
            assert [row["exp_id"] for row in json.loads(out)] == ["000"], params
            mcp.ask("tried", params=params)
        mcp.ask("tried", params={"hypothesis": "narrower"})
        for name in ("exp_id", "specialist"):
            with pytest.raises(StoreError, match=f"column '{name}' holds text"):
                store.tried({name: 1})
            done = subprocess.run([LINEAGE, "tried", f"-p{name}=1", "-C", path], capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (2, f"lineage: column '{name}' holds text; a range needs numbers\n")
            mcp.ask("tried", params={name: 1})
    *found, none, first, second = [answer for i, answer in sorted(mcp.answers().items()) if i]
    assert [ids_of(page) for page in found] == [["000"]] * len(asked), found
    assert not none["tried"] and "unknown" not in none, none
    assert "holds text" in str(first) and "holds text" in str(second), (first, second)


def test_ids_that_only_a_ref_has_are_given_at_no_door(tmp_path, monkeypatch):
    """As in a clone that fetched the refs, but not the rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.path.dirname(LINEAGE) + os.pathsep + os.environ["PATH"])
    path = str(tmp_path / "s")
    for words in (["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"],
                  ["update-ref", "refs/lineage/009", "HEAD"]):  # fmt: skip
        subprocess.run(["git", *words], check=True)
    Store(path, create=True, direction="lower").close()
    [ref] = json.loads(command(path, "refs", "--without-rows", "--format", "json"))
    assert (ref["exp_id"], ref["ref"]) == ("009", "refs/lineage/009")
    with Store(path) as store:
        with pytest.raises(StoreError, match="009 has the code of another trial"):
            store.append(exp_id="009", status="crash")
        with pytest.raises(StoreError, match="take another id"):
            store.check(exp_id="009")
        assert store.append(status="crash")["exp_id"] == "010"
        with store.trial(hypothesis="x") as trial:
            trial.score(1)
        assert trial.row["exp_id"] == "011"
    assert Mcp(path).write("append", status="crash", specialist="s", hypothesis="x")["exp_id"] == "012"
    assert command(path, "append", "--status", "crash").strip() == "013"
    assert json.loads(command(path, "refs", "--without-rows", "--format", "json")) == [ref]
