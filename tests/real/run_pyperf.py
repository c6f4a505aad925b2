# pip: pyperf==2.11.0
"""pyperf: what was measured, with its spread between the name and the number."""
import re
import subprocess
import sys

from tiny import right

command = [sys.executable, "-m", "pyperf"]
print(subprocess.run([*command, "timeit", "--fast", "-p", "3", "-o", "out.json", "sum(range(100))"], check=True, capture_output=True, text=True).stdout)
stats = subprocess.run([*command, "stats", "out.json"], check=True, capture_output=True, text=True).stdout
print(stats)
right(*((name, "-", re.search(rf"{name} .*: +(\S+) ", stats)[1]) for name in ("Mean", "Median")))
