"""serve.py: tests the live page in a browser: new rows, curves of a running trial, no requests to other hosts."""
import fcntl
import json
import os
import signal
import subprocess
import time

import browser as b
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait


def until(page, what, condition):
    try:
        WebDriverWait(page, 15, poll_frequency=.1, ignored_exceptions=(StaleElementReferenceException,)).until(condition)
        b.check(True, what)
    except Exception as error:  # a timeout, with what the page said instead
        b.check(False, f"{what}: {type(error).__name__}")


def main():
    directory = b.scratch()
    os.environ["XDG_STATE_HOME"] = os.path.join(directory, "state")
    store = os.path.join(directory, "store")
    b.synthetic(store, 60)
    server = subprocess.Popen([b.LINEAGE, "serve", "-C", store, "--port", "0"], stdout=subprocess.PIPE, text=True)
    page = b.browser()
    try:
        address = server.stdout.readline().strip()
        b.requests(page)
        page.get(address)
        until(page, "the page is live", lambda p: p.find_element(By.ID, "live").text.startswith("live"))
        until(page, "no trial runs", lambda p: "No trial is running" in p.find_element(By.ID, "running").text)
        page.execute_script("window.kept = true")
        b.lineage("append", "-C", store, "--specialist", "late", "--status", "keep", "--core-metric", "99", "--param", "alpha=0.3")
        until(page, "a new row arrives", lambda p: p.find_element(By.CSS_SELECTOR, ".bar output").text == "61 trials")
        b.check("99" in page.find_element(By.CSS_SELECTOR, ".lead").text, "the sentences follow")
        b.check(page.execute_script("return window.kept") is True, "the page was not loaded anew")

        work = os.path.join(store, ".trial-abcdef")
        os.makedirs(work)
        held = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(held, fcntl.LOCK_EX)
        with open(os.path.join(work, "events.jsonl"), "w", encoding="utf-8") as events:
            events.write(json.dumps({"name": "<b>v1d</b>"}) + "\n")
            for step in range(30):
                events.write(json.dumps({"phase": "train", "step": step, "steps": 60, "reward": step / 60}) + "\n")
        until(page, "a running trial shows", lambda p: "<b>v1d</b>" in p.find_element(By.ID, "running").text)
        running = page.find_element(By.ID, "running")
        b.check("step 29 of 60" in running.text, "how far it is: " + running.text)
        b.check(running.find_elements(By.CSS_SELECTOR, "path.curve"), "its curve")
        os.close(held)
        until(page, "and is gone when its lock is", lambda p: "No trial is running" in p.find_element(By.ID, "running").text)

        row = page.find_element(By.CSS_SELECTOR, ".trials tbody tr")
        page.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", row)
        row.click()
        until(page, "a trial opens", lambda p: "specialist" in p.find_element(By.ID, "panel").text)
        elsewhere = [u for u in b.requests(page) if not u.startswith(address.split("?")[0]) and not u.startswith("data:")]
        b.check(elsewhere == [], f"no request leaves the page: {elsewhere}")
        b.check(*b.silent(page, "no console message"))
        search = page.find_element(By.CSS_SELECTOR, "input[type=search]")
        page.execute_script("arguments[0].value = 'deeper'; arguments[0].oninput()", search)
        until(page, "a filter", lambda p: " of 61" in p.find_element(By.CSS_SELECTOR, ".bar output").text)
        begin = time.monotonic()
        server.send_signal(signal.SIGTERM)
        b.check(server.wait(timeout=15) == 0, "the server ends cleanly with a page listening")
        print(f"ended after {time.monotonic() - begin:.1f} s")
        until(page, "the page says that the server is gone", lambda p: "gone" in p.find_element(By.ID, "live").text)

        # The next server has the same token, so the page connects again and shows what was appended meanwhile.
        b.lineage("append", "-C", store, "--specialist", "meanwhile", "--status", "discard", "--core-metric", "1")
        server = subprocess.Popen([b.LINEAGE, "serve", "-C", store, "--port", address.split(":")[2].split("/")[0]],
                                  stdout=subprocess.PIPE, text=True)
        b.check(server.stdout.readline().strip() == address, "the address is the same")
        until(page, "the page connects again", lambda p: p.find_element(By.ID, "live").text.startswith("live"))
        until(page, "with the new row and its filter",
              lambda p: " of 62" in p.find_element(By.CSS_SELECTOR, ".bar output").text)
        b.check(page.find_element(By.CSS_SELECTOR, "input[type=search]").get_attribute("value") == "deeper", "the filter is kept")
        b.check(page.execute_script("return window.kept") is True, "the page was still not loaded anew")
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=15)

        other = os.path.join(directory, "other")
        b.synthetic(other, 30)
        server = subprocess.Popen([b.LINEAGE, "serve", store, other, "--port", "0"], stdout=subprocess.PIPE, text=True)
        page.get(server.stdout.readline().strip())
        until(page, "two stores", lambda p: [e.text for e in p.find_elements(By.CSS_SELECTOR, ".bar output")] == ["62 trials", "30 trials"])
        until(page, "two lists of running trials", lambda p: p.find_element(By.ID, "running").text.count("No trial is running") == 2)
        b.lineage("append", "-C", other, "--status", "discard", "--core-metric", "1")
        until(page, "a row of the second store arrives", lambda p: p.find_elements(By.CSS_SELECTOR, ".bar output")[1].text == "31 trials")
        page.execute_script("report.stores[1].open(0)")
        until(page, "a trial of the second store opens", lambda p: "specialist" in p.find_element(By.ID, "panel").text)
        b.check("1.trial=00000" in page.current_url or until(page, "its link", lambda p: "1.trial=00000" in p.current_url) is None, "the link names the store")
    finally:
        page.quit()
        if server.poll() is None:
            server.kill()
        b.forget(directory)
    b.finish()


main()
