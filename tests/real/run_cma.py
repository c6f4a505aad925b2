# pip: cma==4.5.0
"""pycma: a table whose names have blanks, and sentences with lists of numbers below it."""
import cma

from tiny import right

es = cma.CMAEvolutionStrategy([1] * 4, 0.5, {"seed": 3, "maxiter": 60})
es.optimize(lambda x: sum(v * v for v in x))
es.result_pretty()
right(("sigma", "-", f"{es.sigma:.2e}"), ("f-value", "-", f"{es.result.fbest:.6e}"))
