#!/usr/bin/python3
"""page_bench.py: how long a browser takes to open reports of several sizes, and to filter, search, sort and clear them.

usage: /usr/bin/python3 tests/bench/page_bench.py [TRIALS...]      (default: 1000 10000 100000)

Needs chromium, chromedriver and python3-selenium. LINEAGE in the environment is the command that writes the reports (default:
build-test/cli/lineage). A time ends when the browser has drawn two more frames, so it has about 33 ms in it that no page can
save. For each action, the slowest of three places of the window is printed: at the history, at the parallel coordinates, at the
table.
"""
import os
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("SOURCE", SOURCE)
os.environ.setdefault("LINEAGE", os.path.join(SOURCE, "build-test", "cli", "lineage"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "browser"))

PLACES = (".pic-history", ".pic-parallel", ".trials")
ACTIONS = {
    "filter": "boxes[1].click()",
    "search": "search.value = 'number 17'; search.oninput()",
    "clear": "clear.click()",
    "sort": "heads[4].click()",
}


def measure(page, action):
    slowest = 0
    for place in PLACES:
        page.execute_script("document.querySelector(arguments[0]).scrollIntoView({block: 'center', behavior: 'instant'})", place)
        time.sleep(.3)
        slowest = max(slowest, page.execute_async_script("""
            const done = arguments[0], boxes = document.querySelectorAll('.bar input[type=checkbox]');
            const search = document.querySelector('input[type=search]'), heads = document.querySelectorAll('.trials th button');
            const clear = [...document.querySelectorAll('.bar button')].find(e => e.textContent === 'Clear');
            const frames = then => requestAnimationFrame(() => requestAnimationFrame(then));
            frames(() => { const begin = performance.now(); """ + action + """; frames(() => done(performance.now() - begin)); });"""))
    return slowest


def main():
    if any(argument.startswith("-") for argument in sys.argv[1:]):
        print(__doc__)
        sys.exit(0 if sys.argv[1] in ("-h", "--help") else 2)
    import browser as b
    directory = b.scratch()
    page = b.browser()
    page.set_script_timeout(300)
    page.set_page_load_timeout(300)
    try:
        print(f"{'trials':>10} {'bytes':>12} {'open_ms':>10} " + " ".join(f"{name + '_ms':>10}" for name in ACTIONS))
        for n in [int(argument) for argument in sys.argv[1:]] or [1000, 10000, 100000]:
            store = os.path.join(directory, str(n))
            b.synthetic(store, n)
            path = b.lineage("report", "-C", store).strip()
            begin = time.monotonic()
            page.get("file://" + path)
            opened = (time.monotonic() - begin) * 1e3
            for place in PLACES:  # each picture reads its marks when it is first seen
                page.execute_script("document.querySelector(arguments[0]).scrollIntoView()", place)
                time.sleep(1)
            times = [measure(page, action) for action in ACTIONS.values()]
            print(f"{n:>10} {os.path.getsize(path):>12} {opened:>10.0f} " + " ".join(f"{t:>10.0f}" for t in times), flush=True)
    finally:
        page.quit()
        b.forget(directory)


main()
