"""report.py: tests a report in a browser: views, brushing, filters, keyboard, hostile cells, 10,000 trials, no script."""
import json
import os
import time

import browser as b
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

VIEWS = "morning history tree coverage parallel knobs calibration failures importance seeds".split()


def counted(page):
    return page.find_element(By.CSS_SELECTOR, ".bar output").text


def settle(page):
    page.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")


def head(page, name):
    return next(e for e in page.find_elements(By.CSS_SELECTOR, ".trials th button") if e.text == name)


def column(page, name):
    """Returns the texts of a column of the table."""
    names = [e.text for e in page.find_elements(By.CSS_SELECTOR, ".trials th")]
    place = names.index(name) + 1
    return [e.text for e in page.find_elements(By.CSS_SELECTOR, f".trials tbody td:nth-child({place})")]


def choose(page, name):
    """Shows or hides a column."""
    details = page.find_element(By.CSS_SELECTOR, ".columns")
    if not details.get_attribute("open"):
        details.find_element(By.TAG_NAME, "summary").click()
    next(e for e in details.find_elements(By.TAG_NAME, "label") if e.text == name).click()
    details.find_element(By.TAG_NAME, "summary").click()


def press(page, text):
    button = next(e for e in page.find_elements(By.TAG_NAME, "button") if e.text.startswith(text) and e.is_displayed())
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", button)
    button.click()


def drag(page, rail, first, last):
    """Drags along an axis between two fractions of its height, measured from the top."""
    grip = page.find_element(By.CSS_SELECTOR, f'g.rail[data-axis="{rail}"] .grip')
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", grip)
    box = grip.rect
    chain = ActionChains(page, duration=20)
    chain.move_to_element_with_offset(grip, 0, int(box["height"] * (first - .5))).click_and_hold()
    chain.move_to_element_with_offset(grip, 0, int(box["height"] * ((first + last) / 2 - .5)))
    chain.move_to_element_with_offset(grip, 0, int(box["height"] * (last - .5))).release().perform()
    settle(page)


def usual(page, directory):
    store = os.path.join(directory, "usual")
    b.synthetic(store, 300)
    path = b.lineage("report", "-C", store).strip()
    b.requests(page)
    page.get("file://" + path)
    b.check(page.execute_script("return document.documentElement.dataset.ready") is not None, "the script ran to its end")
    for view in VIEWS:
        section = page.find_element(By.ID, f"s0-{view}").find_element(By.XPATH, "..")
        b.check(section.find_elements(By.CSS_SELECTOR, "svg"), f"view {view} is there")
        svg = section.find_elements(By.CSS_SELECTOR, "svg")[0]
        b.check(svg.rect["width"] > 300 and svg.rect["height"] > 30, f"view {view} has a size")
    b.check(counted(page) == "300 trials", "all trials are counted")

    drag(page, 0, .7, 1.02)
    few = int(counted(page).split()[0])
    b.check(0 < few < 300, f"brushing alpha leaves some trials ({few})")
    alpha = page.execute_script("return JSON.parse(document.querySelector('script[type=\"application/json\"]').textContent)")
    place = [a["name"] for a in alpha["axes"]].index("alpha")
    b.check(place == 0, "alpha is the first axis")
    value = alpha["axes"][0]["v"]
    low = [v for v in value if v is not None and v <= .1 + .8 * .3 + .03]
    b.check(abs(len(low) - few) <= max(10, len(low) * .2), f"those below what was brushed: {len(low)} about {few}")
    shown = set(column(page, "trial"))
    wanted = {alpha["id"][i] for i, v in enumerate(value) if v is not None and v < .4}
    b.check(shown and shown <= wanted, "the table shows what was brushed")
    page.execute_script("document.querySelector('.pic-tree').scrollIntoView({behavior: 'instant'})")
    until = time.monotonic() + 5
    while not page.find_elements(By.CSS_SELECTOR, ".pic-tree .dim") and time.monotonic() < until:
        time.sleep(.05)
    b.check(page.find_elements(By.CSS_SELECTOR, ".pic-tree .dim"), "the tree dims the others")
    page.find_element(By.XPATH, "//button[text()='Clear']").click()
    settle(page)
    b.check(counted(page) == "300 trials" and not page.find_elements(By.CSS_SELECTOR, ".brush"), "Clear brings all back")

    search = page.find_element(By.CSS_SELECTOR, "input[type=search]")
    search.send_keys("number 17")
    settle(page)
    b.check(counted(page).startswith("11 of"), "words filter: " + counted(page))
    search.clear()
    search.send_keys(" ", Keys.BACKSPACE)
    settle(page)
    page.find_elements(By.CSS_SELECTOR, ".bar input[type=checkbox]")[0].click()
    settle(page)
    b.check(" of " in counted(page), "a label can be left out")
    page.find_elements(By.CSS_SELECTOR, ".bar input[type=checkbox]")[0].click()

    head(page, "core_metric").click()
    scores = [float(text.split()[0]) for text in column(page, "core_metric") if text]
    b.check(scores == sorted(scores, reverse=True) and len(scores) > 50, "the table sorts by score")

    panel = page.find_element(By.ID, "panel")
    page.find_element(By.CSS_SELECTOR, ".trials tbody tr").send_keys(Keys.ENTER)
    b.check(panel.is_displayed() and "hypothesis" in panel.text and "alpha" in panel.text, "Enter on a row opens the trial")
    first = panel.find_element(By.CSS_SELECTOR, "h2 + *")
    b.check("changed" in first.text and first.tag_name == "table", "what it changed comes first: " + first.text)
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    b.check(not panel.is_displayed(), "Escape closes it")
    history = page.find_element(By.CSS_SELECTOR, ".pic-history")
    page.execute_script("arguments[0].focus()", history)
    ActionChains(page).send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT).perform()
    b.check(page.find_element(By.ID, "tip").text.startswith("00001"), "arrow keys walk the trials: " + page.find_element(By.ID, "tip").text)
    ActionChains(page).send_keys(Keys.ENTER).perform()
    b.check(panel.is_displayed() and panel.text.startswith("00001", panel.text.index("0")), "Enter opens the one walked to")
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    cell = page.find_element(By.CSS_SELECTOR, ".pic .cell[data-n]")
    page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", cell)
    ActionChains(page).move_to_element(cell).click().perform()
    b.check(panel.is_displayed(), "a cell of the coverage opens its best trial")
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    select = page.find_element(By.CSS_SELECTOR, "select[aria-label='Pair of parameters']")
    select.find_elements(By.TAG_NAME, "option")[2].click()
    b.check(len([f for f in page.find_elements(By.CSS_SELECTOR, ".pair") if f.is_displayed()]) == 1, "one pair is shown at a time")
    b.check(*b.silent(page, "no console message"))
    gone = [u for u in b.requests(page) if not u.startswith("file://") and not u.startswith("data:")]
    b.check(gone == [], f"no request leaves the page: {gone}")


def hostile(page, directory):
    store = os.path.join(directory, "hostile")
    os.makedirs(store)
    evil = ("</script><script>window.pwned=1</script><img src=x onerror=window.pwned=1><svg onload=window.pwned=1>"
            "\"' onmouseover='window.pwned=1' &#60;b&#62; ]]> --> \u202egnp.exe\u2066 \u2028 javascript:window.pwned=1")
    with open(os.path.join(store, "results.tsv"), "w", encoding="utf-8") as out:
        out.write("exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\t"
                  "val_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n")
        for i, status in enumerate(["baseline", "keep", "discard", "crash", "keep"]):
            cell = '"' + (evil + str(i)).replace('"', '""') + '"'
            out.write("\t".join([cell, cell, cell, '"' + (evil + "0").replace('"', '""') + '"', cell, cell, cell, cell, status, f"{i}.5", "",
                                 "1", "1", "2", cell, cell, f'"alpha=0.{i}; beta={i}; word={i}; ' + evil.replace('"', '""') + '"']) + "\n")
    path = b.lineage("report", "-C", store).strip()
    page.get("file://" + path)
    for svg in page.find_elements(By.CSS_SELECTOR, "svg[tabindex]"):
        if svg.is_displayed():
            ActionChains(page).move_to_element(svg).perform()
    for row in page.find_elements(By.CSS_SELECTOR, ".trials tbody tr"):
        row.send_keys(Keys.ENTER)
        page.switch_to.active_element.send_keys(Keys.ESCAPE)
    b.check(page.execute_script("return window.pwned") is None, "nothing of a cell runs")
    b.check(page.execute_script("return document.querySelectorAll('img, svg[onload], [onerror], [onmouseover]').length") == 0,
            "no cell becomes an element or an attribute")
    b.check(page.execute_script("return document.documentElement.dataset.ready") is not None, "the script survives the cells")
    b.check("\u202e" not in page.page_source and "\u2066" not in page.page_source, "no bidirectional control")
    b.check("onerror=window.pwned" in page.find_element(By.CSS_SELECTOR, ".trials tbody").text, "the cell is shown as text")
    b.check(*b.silent(page, "no console message with hostile cells"))


def columns(page, directory):
    """Parameters are columns: sorted, hidden, and kept in the link."""
    page.get("file://" + os.path.join(directory, "usual", "report.html"))
    b.check({"alpha", "gamma", "lr", "group_size"} <= {e.text for e in page.find_elements(By.CSS_SELECTOR, ".trials th")},
            "parameters are columns")
    head(page, "alpha").click()
    values = [float(v) for v in column(page, "alpha")]
    b.check(values == sorted(values, reverse=True) and len(values) == 100, "a column of a parameter sorts, the largest first")
    head(page, "alpha").click()
    values = [float(v) for v in column(page, "alpha")]
    b.check(values == sorted(values) and values[0] == .1, "and the smallest first")
    choose(page, "gamma")
    choose(page, "appended")
    names = [e.text for e in page.find_elements(By.CSS_SELECTOR, ".trials th")]
    b.check("gamma" not in names and "appended" in names, f"columns are hidden and shown: {names}")
    page.find_element(By.CSS_SELECTOR, "input[type=search]").send_keys("deeper")
    time.sleep(.4)
    link, before = page.current_url, counted(page)
    b.check(all(part in link for part in ("sort=p.alpha", "hide=p.gamma", "show=time", "q=deeper")), "the link has the state: " + link)
    page.get("about:blank")
    page.get(link)
    names = [e.text for e in page.find_elements(By.CSS_SELECTOR, ".trials th")]
    values = [float(v) for v in column(page, "alpha")]
    b.check("gamma" not in names and "appended" in names and counted(page) == before and values == sorted(values),
            "the link opens the page in that state")


def links(page, directory):
    path = "file://" + os.path.join(directory, "usual", "report.html")
    page.get("about:blank")
    page.get(path + "#trial=00043&off=discarded&p.alpha=0.2..0.6")
    panel = page.find_element(By.ID, "panel")
    b.check(panel.is_displayed() and panel.find_element(By.TAG_NAME, "h2").text.startswith("00043"), "a link opens a trial")
    time.sleep(.4)
    page.refresh()
    panel = page.find_element(By.ID, "panel")
    b.check(panel.is_displayed() and panel.find_element(By.TAG_NAME, "h2").text.startswith("00043"), "the trial survives a reload")
    b.check(set(column(page, "alpha")) <= {"0.2", "0.3", "0.5"} and "discarded" not in column(page, "outcome"), "so do filters")
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    page.find_element(By.CSS_SELECTOR, "nav a[href='#s0-tree']").click()
    time.sleep(.4)
    b.check("p.alpha=0.2..0.6" in page.current_url and "trial" not in page.current_url, "a link within the page keeps filters: " + page.current_url)
    page.execute_script("location.hash = '#trial=00007'")
    time.sleep(.4)
    b.check(panel.is_displayed() and panel.find_element(By.TAG_NAME, "h2").text.startswith("00007"), "another link in the same page")
    page.execute_script("location.hash = '#trial=nobody&off=nothing&p.alpha=x..y&sort=none&pick=%00'")
    time.sleep(.4)
    b.check(counted(page) == "300 trials", "a link with unknown names shows all")
    b.check(*b.silent(page, "no console message from links"))


def embedded(page, directory):
    """Notebooks and model cards show the page in the srcdoc of a frame, which has no address of its own."""
    from html import escape
    with open(os.path.join(directory, "usual", "report.html"), encoding="utf-8") as report:
        text = escape(report.read())
    for sandbox in ("", 'sandbox="allow-scripts"'):
        path = os.path.join(directory, "host.html")
        with open(path, "w", encoding="utf-8") as host:
            host.write(f'<!doctype html><title>HOST</title><iframe width=900 height=600 {sandbox} srcdoc="{text}"></iframe>')
        page.get("file://" + path)
        page.switch_to.frame(0)
        page.find_element(By.CSS_SELECTOR, ".filters input[type=search]").send_keys("0.5")
        time.sleep(.4)
        before = counted(page)
        page.find_element(By.CSS_SELECTOR, "nav a[href='#s0-tree']").click()
        time.sleep(.4)
        b.check(page.execute_script("return document.title") != "HOST" and page.execute_script("return scrollY") > 0 and
                counted(page) == before != "300 trials", f"a link in a frame scrolls and keeps filters ({sandbox})")
        page.switch_to.default_content()
        b.check(*b.silent(page, f"no console message from a page in a frame ({sandbox})"))


def compare(page, directory):
    store = os.path.join(directory, "compared")
    b.lineage("init", store, "--direction", "higher")
    for i, rate in enumerate([1, 2, 2]):
        b.lineage("append", "-C", store, "--status", "discard" if i else "baseline", "--core-metric", str(i), "--param", f"lr={rate}",
                  "--param", "size=8", "--parent", "000" if i else "")
    os.makedirs(os.path.join(store, "telemetry"), exist_ok=True)
    for i in range(2):
        with open(os.path.join(store, "telemetry", f"00{i}.json"), "w", encoding="utf-8") as out:
            json.dump({"steps": [{"step": k, "reward": k * (i + 1) / 10} for k in range(10)]}, out)
    b.lineage("rebuild", "-C", store)
    path = b.lineage("report", "-C", store).strip()
    page.get("file://" + path)
    for name in ("001", "000"):
        box = page.find_element(By.CSS_SELECTOR, f"input[aria-label='Select {name}']")
        page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", box)
        box.click()
    press(page, "Compare 2")
    panel = page.find_element(By.ID, "panel")
    table = panel.find_element(By.CSS_SELECTOR, ".compare").text
    b.check("lr 2 1" in table and "size" not in table and "1 setting with equal values is left out" in panel.text, "differences only: " + table)
    settle(page)
    lines = panel.find_elements(By.CSS_SELECTOR, ".overlays svg path.best")
    b.check(len(lines) == 2 and "reward of 001, 000" in panel.find_element(By.CSS_SELECTOR, ".overlays title").get_attribute("textContent"), "curves are overlaid")
    ends = [line.get_attribute("d").split("L")[-1].split()[1] for line in lines]
    b.check(ends == ["30.0", "90.0"], f"on one scale: {ends}")
    time.sleep(.4)
    page.refresh()
    panel = page.find_element(By.ID, "panel")
    b.check(panel.is_displayed() and "lr 2 1" in panel.text, "a comparison survives a reload")
    b.check(*b.silent(page, "no console message from comparisons"))


def since(page, directory):
    """A second visit shows what is new."""
    store = os.path.join(directory, "visited")
    b.synthetic(store, 20)
    page.get("file://" + b.lineage("report", "-C", store).strip())
    b.check(not page.find_elements(By.CSS_SELECTOR, ".since"), "a first visit has nothing new")
    b.lineage("append", "-C", store, "--status", "keep", "--core-metric", "99")
    b.lineage("append", "-C", store, "--status", "crash")
    path = "file://" + b.lineage("report", "-C", store).strip()
    page.execute_script("sessionStorage.clear()")
    page.get(path)
    text = page.find_element(By.CSS_SELECTOR, ".since").text
    b.check("2 new trials, 1 kept, 1 failed" in text and "to 99." in text, text)
    page.refresh()
    b.check(page.find_elements(By.CSS_SELECTOR, ".since"), "it survives a reload")
    press(page, "Show only these")
    settle(page)
    b.check(counted(page) == "2 of 22 trials", "the new ones alone: " + counted(page))
    page.execute_script("sessionStorage.clear()")
    page.get("about:blank")
    page.get(path)
    b.check(not page.find_elements(By.CSS_SELECTOR, ".since"), "what was looked at is not new")


def steps(page, directory, n):
    """Counts how often each block of the script runs during a filter, a search, a sort and a clear, and the bytes that they write
    into the page."""
    store = os.path.join(directory, f"steps{n}")
    b.synthetic(store, n)
    page.get("file://" + b.lineage("report", "-C", store).strip())
    time.sleep(1)
    page.execute_cdp_cmd("Profiler.enable", {})
    page.execute_cdp_cmd("Profiler.startPreciseCoverage", {"callCount": True, "detailed": True})
    written = page.execute_async_script("""
        const done = arguments[0], all = [...document.querySelectorAll('.bar button')];
        let bytes = 0;
        new MutationObserver(list => list.forEach(m => bytes += m.type === 'attributes' ? m.target.getAttribute(m.attributeName)?.length || 0
            : [...m.addedNodes].reduce((n, e) => n + (e.outerHTML || '').length, 0)))
            .observe(document.body, {subtree: true, childList: true, attributes: true});
        document.querySelector('.pic-history').scrollIntoView();
        const box = document.querySelectorAll('.bar input[type=checkbox]')[1], search = document.querySelector('input[type=search]');
        const heads = () => [...document.querySelectorAll('.trials th button')];
        const acts = [() => box.click(), () => { search.value = 'number 1'; search.oninput(); }, () => heads()[3].click(),
            () => heads().at(-1).click(), () => all.find(e => e.textContent === 'Clear').click(), () => done(bytes)];
        const next = () => { const act = acts.shift(); if (act) { act(); requestAnimationFrame(() => setTimeout(next, 50)); } };
        next();""")
    ran = page.execute_cdp_cmd("Profiler.takePreciseCoverage", {})["result"]
    page.execute_cdp_cmd("Profiler.stopPreciseCoverage", {})
    blocks = sum(r["count"] for script in ran if script["url"].startswith("file:") for f in script["functions"] for r in f["ranges"])
    return blocks, written


def complexity(page, directory):
    """Filtering, sorting and clearing take time in proportion to the trials, and write as much into the page of a large store as
    of a smaller one: an SVG path of all trials takes a browser seconds to draw."""
    few, few_bytes = steps(page, directory, 4000)
    many, many_bytes = steps(page, directory, 16000)
    print(f"blocks of the script: {few} at 4,000 trials, {many} at 16,000; written: {few_bytes} and {many_bytes} bytes")
    b.check(few > 20000 and many < 5.5 * few, f"four times the trials need {many / few:.2f} times the steps")
    b.check(many_bytes < 1.5 * few_bytes, f"and {many_bytes / few_bytes:.2f} times the bytes")


def large(page, directory):
    store = os.path.join(directory, "large")
    b.synthetic(store, 10000)
    path = b.lineage("report", "-C", store).strip()
    size = os.path.getsize(path)
    b.check(size < 6 << 20, f"10,000 trials are {size} bytes, less than 6 MiB")
    begin = time.monotonic()
    page.get("file://" + path)
    opened = time.monotonic() - begin
    ready = page.execute_script("return +document.documentElement.dataset.ready")
    took = page.execute_async_script("""
        const done = arguments[0], box = document.querySelector('.bar input[type=checkbox]'), times = [];
        const again = n => { if (!n) return done(times.sort((a, b) => a - b)[times.length >> 1]);
            const begin = performance.now(); box.click();
            requestAnimationFrame(() => requestAnimationFrame(() => { times.push(performance.now() - begin); again(n - 1); })); };
        again(6);""")
    hover = page.execute_script("""
        const svg = document.querySelector('.pic-history'), box = svg.getBoundingClientRect(), begin = performance.now();
        for (let k = 0; k < 50; k++)
            svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.left + 100 + 15 * k, clientY: box.top + 100 + k}));
        return (performance.now() - begin) / 50""")
    print(f"10,000 trials: {size / 1e6:.2f} MB, open {opened * 1e3:.0f} ms of which script {ready:.0f}, filter {took:.0f} ms, "
          f"pointer {hover:.2f} ms")
    b.check(counted(page) == "10000 trials", "all are counted")
    above = page.execute_script("""
        const svg = document.querySelector('.pic-history'), all = [...svg.children], best = all.findLastIndex(e => e.matches('.best'));
        return [best > all.findLastIndex(e => e.matches('.m.discard')), svg.parentNode.querySelector('canvas') !== null]""")
    b.check(above == [True, True], "the best-so-far line is above the marks, which are on a canvas")
    b.check(*b.silent(page, "no console message with 10,000 trials"))


def without_script(directory):
    page = b.browser(script=False)
    try:
        page.get("file://" + os.path.join(directory, "usual", "report.html"))
        b.check(not page.find_elements(By.CSS_SELECTOR, ".filters > *"), "the script is off")
        for view in VIEWS:
            svg = page.find_element(By.ID, f"s0-{view}").find_element(By.XPATH, "..").find_elements(By.CSS_SELECTOR, "svg")
            b.check(svg and svg[0].is_displayed(), f"view {view} without script")
        rows, full = (page.find_elements(By.CSS_SELECTOR, what) for what in (".trials tbody tr", ".card"))
        b.check(len(rows) == len(full) > 30, "the table without script")
        b.check(page.find_elements(By.CSS_SELECTOR, ".pic-history [data-i] title"), "marks have titles without script")
        cards = [c for c in page.find_elements(By.CSS_SELECTOR, ".card") if c.is_displayed()]
        b.check(cards == [], "trials are listed once")
        page.find_element(By.CSS_SELECTOR, ".trials tbody a").click()
        cards = [c.text for c in page.find_elements(By.CSS_SELECTOR, ".card") if c.is_displayed()]
        b.check(len(cards) == 1 and "notes" in cards[0] and cards[0].startswith("00299"), "its link opens a trial without script")
    finally:
        page.quit()


def layout(page, width):
    wide = page.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    b.check(wide <= 1, f"a window of {width} pixels does not scroll sideways ({wide})")
    letters = page.execute_script("""
        return Math.min(...[...document.querySelectorAll('.pic text')].filter(e => e.getBoundingClientRect().width)
            .map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a))""")
    b.check(letters > 7, f"{width} pixels: the smallest letters of a picture have {letters:.1f} pixels")
    beside = page.execute_script("""
        const tops = [...document.querySelectorAll('main > section')].map(e => Math.round(e.getBoundingClientRect().top));
        return [tops.length - new Set(tops).size, document.querySelector('main').clientWidth]""")
    b.check((beside[0] > 3 and beside[1] > 2300) == (width == 2560), f"{width} pixels: parts are beside each other only in a wide window: {beside}")
    lost = page.execute_script("""
        return [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth && e.tabIndex !== 0).length""")
    b.check(lost == 0, f"{width} pixels: {lost} regions scroll and cannot be focused")
    cut = page.execute_script("""
        const out = [];
        for (const svg of document.querySelectorAll('svg.pic')) { const box = svg.getBoundingClientRect();
            for (const e of box.width ? svg.querySelectorAll('text') : []) { const t = e.getBoundingClientRect();
                if (t.width && (t.left < box.left - 1 || t.right > box.right + 1)) out.push(svg.getAttribute('class') + ': ' + e.textContent); } }
        return out""")
    b.check(cut == [], f"{width} pixels: texts that are cut off: {cut[:5]}")


def narrow(directory):
    page = b.browser(width=500)
    try:
        page.get("file://" + os.path.join(directory, "usual", "report.html"))
        for width in (360, 768, 1440, 2560):
            page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
            settle(page)
            layout(page, width)
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        light = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        b.check(light == "rgb(20, 24, 29)", "dark when asked for: " + light)
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        b.check(not page.find_element(By.CSS_SELECTOR, ".bar").is_displayed(), "no controls on paper")
    finally:
        page.quit()


def main():
    directory = b.scratch()
    page = b.browser()
    try:
        usual(page, directory)
        hostile(page, directory)
        columns(page, directory)
        links(page, directory)
        embedded(page, directory)
        compare(page, directory)
        since(page, directory)
        complexity(page, directory)
        large(page, directory)
        without_script(directory)
        narrow(directory)
    finally:
        page.quit()
        b.forget(directory)
    b.finish()


main()
