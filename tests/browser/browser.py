"""Shared by the browser tests: Debian's chromium, driven through selenium and chromedriver."""
import os
import shutil
import subprocess
import sys
import tempfile

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print("SKIPPED: no python3-selenium here")
    sys.exit(77)

LINEAGE = os.environ["LINEAGE"]
SOURCE = os.environ["SOURCE"]
failures = 0
checks = 0


def check(ok, what):
    global failures, checks
    checks += 1
    if not ok:
        failures += 1
        print("FAIL", what)


def finish():
    print(f"{checks} checks, {failures} failed")
    sys.exit(1 if failures or not checks else 0)


def lineage(*arguments):
    return subprocess.run([LINEAGE, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def scratch():
    directory = tempfile.mkdtemp(prefix="lineage-browser-")
    return directory


def forget(directory):
    shutil.rmtree(directory, ignore_errors=True)


def browser(width=1200, height=1000, script=True):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        print("SKIPPED: no chromium or no chromedriver here")
        sys.exit(77)
    options = Options()
    options.binary_location = chromium
    for argument in ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--force-prefers-reduced-motion",
                     f"--window-size={width},{height}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    page = webdriver.Chrome(service=Service(driver), options=options)
    if not script:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    return page


def console(page):
    return [entry["message"] for entry in page.get_log("browser")]


def silent(page, what):
    """Arguments of check."""
    said = console(page)
    return said == [], f"{what}: {said}" if said else what


def requests(page):
    """Returns the addresses of all requests since the last call."""
    import json
    urls = []
    for entry in page.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            urls.append(message["params"]["request"]["url"])
    return urls


def synthetic(directory, n):
    """Makes a store of n trials with parameters, failures, and a chain of kept trials."""
    import random
    import time
    random.seed(3)
    columns = ("exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric val_bpb "
               "delta_vs_best train_s total_s job_name snapshot_path notes").split()
    words = "wider clip turn group norm entropy bonus longer warmup smaller rate deeper rollouts separate advantages gain".split()
    best, best_id, kept = 30.0, "", []
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "results.tsv"), "w", encoding="utf-8") as out:
        out.write("\t".join(columns) + "\n")
        for i in range(n):
            alpha, gamma = random.choice([.1, .2, .3, .5, .7, .9]), random.choice([.9, .95, .99, 1.0])
            rate, group = random.choice([1e-5, 3e-5, 1e-4, 3e-4, 1e-3]), random.choice([4, 8, 16])
            score = 30 + 6 * (1 - 2.718 ** (-3 * i / n)) - (alpha - .4) ** 2 * 3 + (gamma - .9) * 5 + random.gauss(0, .4)
            chance = random.random()
            label = ("baseline" if i == 0 else "crash" if chance < .08 else "train_budget_overrun" if chance < .11 else
                     "size_blocked" if chance < .12 else "keep" if score > best + .283 else "discard")
            measured = label in ("keep", "discard", "baseline")
            parent = random.choice(kept[-6:]) if kept else ""
            delta = score - best
            name = f"{i:05d}"
            if label in ("keep", "baseline"):
                best, best_id = score, name
                kept.append(name)
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1770000000 + (i // 40) * 86400 + (i % 40) * 700))
            notes = f"alpha={alpha:g}, gamma={gamma:g}; lr={rate:g}; group_size={group}; seed={i % 5}"
            if not measured:
                notes += "; " + random.choice(["out of memory at step 40", "loss is nan", "walltime"])
            out.write("\t".join([name, stamp, random.choice(["grpo", "turn", "joint", "length"]), parent, best_id, "qa",
                                 " ".join(random.sample(words, 6)) + f" number {i}", f"+0.{random.randint(1, 9)}", label,
                                 f"{score:.4f}" if measured else "", "", f"{delta:.4f}" if measured else "", "600", "620", "", "",
                                 notes]) + "\n")
    lineage("init", directory, "--direction", "higher", "--noise-std", "0.2", "--noise-seeds", "4")
