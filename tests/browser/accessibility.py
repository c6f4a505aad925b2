#!/usr/bin/python3
"""accessibility.py: axe finds no violation on the page of `lineage report`: four widths, two colour schemes, a trial opened, a comparison.

axe-core is in the build directory, where tests/run.sh fetches it by npm. Skipped without it or a browser.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

import browser as b
from selenium.webdriver.common.by import By

WIDTHS = (360, 768, 1440, 2560)


def axe():
    script = pathlib.Path(os.environ["BUILD"]) / "npm-axe/node_modules/axe-core/axe.min.js"
    if not script.exists():
        print("SKIP the npm package axe-core was not fetched (sh tests/run.sh)")
        sys.exit(77)
    return script.read_text()


def violations(page):
    page.set_script_timeout(120)
    found = page.execute_async_script("""
        const done = arguments[arguments.length - 1];
        axe.run(document, {resultTypes: ['violations']}).then(
            r => done({ok: r.passes.length, bad: r.violations.map(v => v.id + ' ' + v.nodes.slice(0, 3).map(n => n.target.join(' ')).join(', '))}),
            e => done({ok: 0, bad: [String(e)]}));""")
    return found


def look(page, what):
    found = violations(page)
    b.check(found["ok"] > 10, f"{what}: axe applied {found['ok']} rules")
    b.check(found["bad"] == [], f"{what}: {found['bad']}")


def main():
    script, directory = axe(), b.scratch()
    store = os.path.join(directory, "store")
    b.synthetic(store, 60)
    b.lineage("report", "-C", store, "-o", os.path.join(directory, "report.html"))
    page = b.browser()
    try:
        page.get("file://" + os.path.join(directory, "report.html"))
        page.execute_script(script)
        for scheme in ("light", "dark"):
            page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
            for width in WIDTHS:
                page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
                time.sleep(0.5)
                look(page, f"{width} pixels, {scheme}")
        page.execute_script("location.hash = 'trial=00001'")
        time.sleep(0.5)
        b.check(page.find_elements(By.CSS_SELECTOR, "[open], .opened, .trial"), "a trial is opened")
        look(page, "an opened trial")
        # A picture without a name for those who do not see it is a violation, so axe looks at this page indeed.
        page.execute_script("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=\"data:image/gif;base64,R0lGODlhAQABAAAAACw=\">')")
        b.check(any(bad.startswith("image-alt") for bad in violations(page)["bad"]), "an image without a name is found")
    finally:
        page.quit()
        b.forget(directory)
    b.finish()


main()
