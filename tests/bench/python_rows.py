"""Reading a store from Python, compared with the csv module on the same file: seconds of the processor for all rows.

    python3 tests/bench/python_rows.py [ROWS]

Store.query parses numbers, parameters and metrics of every row; the csv module only splits the cells."""

import csv
import random
import sys
import tempfile
import time

from lineage import Store


def fill(store, rows):
    chance = random.Random(1)
    for number in range(rows):
        params = {"alpha": chance.random(), "lr": 0.001, "optimizer": "adam"}
        store.append(
            hypothesis=f"try number {number} of a wider clip", specialist="opt", status="discard", score=1 + chance.random(),
            params=params, metrics={"loss": chance.random()}, sync=False,
        )  # fmt: skip


def seconds(read, rounds=5):
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        read()
        best = min(best, time.process_time() - begin)
    return best


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder, Store(folder, create=True, direction="lower") as store:
        fill(store, rows)
        store.query()

        def file():
            return open(f"{folder}/results.tsv", newline="", encoding="utf-8")

        lists = seconds(lambda: list(csv.reader(file(), delimiter="\t")))
        dicts = seconds(lambda: list(csv.DictReader(file(), delimiter="\t")))
        query = seconds(store.query)
        print(f"{rows} rows: csv.reader {lists:.3f} s, csv.DictReader {dicts:.3f} s, Store.query {query:.3f} s")
        print(f"ratio {query / lists:.1f} to csv.reader, {query / dicts:.1f} to csv.DictReader")


main()
