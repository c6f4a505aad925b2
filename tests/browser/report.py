"""report.py: tests a report in a browser: views, brushing, filters, keyboard, hostile cells, 10,000 trials, no script."""
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
    low = [t for t in alpha["t"] if t[10][0] is not None and t[10][0] <= .1 + .8 * .3 + .03]
    b.check(abs(len(low) - few) <= max(10, len(low) * .2), f"those below what was brushed: {len(low)} about {few}")
    shown = {e.text for e in page.find_elements(By.CSS_SELECTOR, ".trials tbody tr td:first-child")}
    wanted = {t[0] for t in alpha["t"] if t[10][0] is not None and t[10][0] < .4}
    b.check(shown and shown <= wanted, "the table shows what was brushed")
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

    page.find_elements(By.CSS_SELECTOR, ".trials th button")[3].click()
    scores = [float(e.text) for e in page.find_elements(By.CSS_SELECTOR, ".trials tbody tr td:nth-child(4)") if e.text]
    b.check(scores == sorted(scores, reverse=True) and len(scores) > 50, "the table sorts by score")

    panel = page.find_element(By.ID, "panel")
    page.find_element(By.CSS_SELECTOR, ".trials tbody tr").send_keys(Keys.ENTER)
    b.check(panel.is_displayed() and "hypothesis" in panel.text and "alpha" in panel.text, "Enter on a row opens the trial")
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
    b.check(*b.silent(page, "no console message with 10,000 trials"))


def without_script(directory):
    page = b.browser(script=False)
    try:
        page.get("file://" + os.path.join(directory, "usual", "report.html"))
        b.check(not page.find_elements(By.CSS_SELECTOR, ".filters > *"), "the script is off")
        for view in VIEWS:
            svg = page.find_element(By.ID, f"s0-{view}").find_element(By.XPATH, "..").find_elements(By.CSS_SELECTOR, "svg")
            b.check(svg and svg[0].is_displayed(), f"view {view} without script")
        b.check(len(page.find_elements(By.CSS_SELECTOR, ".trials tbody tr")) == 100, "the table without script")
        b.check(page.find_elements(By.CSS_SELECTOR, ".pic-history [data-i] title"), "marks have titles without script")
        card = page.find_element(By.CSS_SELECTOR, "details.card summary")
        card.click()
        b.check("notes" in card.find_element(By.XPATH, "..").text, "a trial in full without script")
    finally:
        page.quit()


def narrow(directory):
    page = b.browser(width=500)
    try:
        page.get("file://" + os.path.join(directory, "usual", "report.html"))
        wide = page.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        b.check(wide <= 1, f"a narrow window does not scroll sideways ({wide})")
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
        large(page, directory)
        without_script(directory)
        narrow(directory)
    finally:
        page.quit()
        b.forget(directory)
    b.finish()


main()
