"""claim_queue.py: how many workers one queue and one log feed, simulated.

usage: python3 tests/bench/claim_queue.py [CLAIM_MS [APPEND_MS [RENEW_MS]]]     (as tests/bench/queue_bench.sh measures them)

Each worker claims a trial, runs it (log-normal, so that some take many times the usual), appends its row and claims the
next, 20 in all. Claims and appends are each served one after another, in the order of asking; renewals, one a worker every
20 s, take their share of the time for claims. Workers die at random and their trials are run again when the lease of 60 s
has ended. Printed: what part of their time workers train (the end of a list, when some have nothing left, counts against
it), how long they wait for a claim and for a row.
"""
import heapq
import random
import sys

LEASE, RENEW, DEATHS = 60.0, 20.0, 1e-5  # deaths per second of a worker's life


class Server:
    """One thing at a time, in the order of asking."""

    def __init__(self, seconds):
        self.seconds, self.free, self.busy, self.waited, self.asked = seconds, 0.0, 0.0, 0.0, 0

    def ask(self, now, load=1.0):
        begin = max(now, self.free)
        self.free = begin + self.seconds * load
        self.busy += self.seconds * load
        self.waited += self.free - now
        self.asked += 1
        return self.free


def simulate(workers, trials, median, claim_s, append_s, renew_s, seed=1):
    draw = random.Random(seed)
    renewals = min(0.95, workers / RENEW * renew_s)
    claims, log = Server(claim_s / (1 - renewals)), Server(append_s)
    trained, again, left = 0.0, 0, trials
    events = [(draw.random(), "claim", 0.0, i) for i in range(workers)]
    heapq.heapify(events)
    end = 0.0
    while events:
        now, what, length, worker = heapq.heappop(events)
        end = max(end, now)
        if what == "claim" and left > 0:
            left -= 1
            begun = claims.ask(now, 1.0)
            length = draw.lognormvariate(0, 0.7) * median
            if draw.random() < DEATHS * length:
                again += 1
                heapq.heappush(events, (begun + length / 2 + LEASE, "lost", length, worker))
            else:
                heapq.heappush(events, (begun + length, "row", length, worker))
        elif what == "row":
            trained += length
            heapq.heappush(events, (log.ask(now), "claim", 0.0, worker))
        elif what == "lost":
            left += 1
            heapq.heappush(events, (now, "claim", 0.0, worker))
    return {
        "busy": trained / (workers * end), "claim": claims.waited / claims.asked, "row": log.waited / max(log.asked, 1),
        "claims": renewals + (1 - renewals) * claims.busy / end, "log": log.busy / end, "again": again, "hours": end / 3600,
    }


def main():
    claim_s = float(sys.argv[1]) / 1e3 if len(sys.argv) > 1 else 1e-3
    append_s = float(sys.argv[2]) / 1e3 if len(sys.argv) > 2 else 1.5e-3
    renew_s = float(sys.argv[3]) / 1e3 if len(sys.argv) > 3 else 1e-4
    print(f"claim {claim_s * 1e3:g} ms, append {append_s * 1e3:g} ms, renewal {renew_s * 1e3:g} ms, one at a time; 20 trials a worker")
    print("workers  median of a trial  training  wait claim  wait row  queue busy  log busy  run again")
    for median in (5.0, 60.0, 600.0):
        for workers in (8, 100, 1000, 10000):
            r = simulate(workers, 20 * workers, median, claim_s, append_s, renew_s)
            print(f"{workers:7d}  {median:15.0f} s  {r['busy']:8.1%}  {r['claim'] * 1e3:7.1f} ms  {r['row'] * 1e3:5.1f} ms"
                  f"  {r['claims']:10.1%}  {r['log']:8.1%}  {r['again']:9d}")


main()
