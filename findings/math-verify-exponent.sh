#!/bin/sh
# One would guess: math-verify, which rewards answers to mathematical questions, reads 1e-3 as 0.001, the way that every program prints it, and
# finds an answer equal to itself.
# In fact e is Euler's number in an answer between dollar signs or in \boxed{}: $1e-3$ is e - 3, so it is wrong where 0.001 is right, and right
# where e - 3 is; $2.5e4$ is 10 e. Outside of them the number ends before the e, and 1e-3 is 1. And anything but numbers is not read outside of them
# and has no points: x^2 is wrong where x^2 is right. A model that computes with a tool and hands on its output is trained away from doing so.
# Version: math-verify 0.9.0, latex2sympy2_extended 1.11.0. Source: math_verify/parser.py, and the grammar of latex2sympy2_extended.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check math-verify==0.9.0 latex2sympy2_extended==1.11.0
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
from importlib.metadata import version
from math_verify import parse, verify

print("math-verify", version("math-verify"), "latex2sympy2_extended", version("latex2sympy2_extended"))
seen = []
for right, answer in (("$0.001$", r"$1 \times 10^{-3}$"), ("$0.001$", "$1e-3$"), ("$e - 3$", "$1e-3$"), ("$0.001$", r"\boxed{1e-3}"),
                      ("$25000$", "$2.5e4$"), ("$1$", "The loss is 1e-3"), ("x^2", "x^2"), ("$x^2$", "$x^2$")):
    seen.append(verify(parse(right), parse(answer)))
    print("right is %s, answer %s is read as %s: %s" % (right, answer, parse(answer)[:1], seen[-1]))
sys.exit(seen != [True, False, True, False, False, True, False, True])
END
