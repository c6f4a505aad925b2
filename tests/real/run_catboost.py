# pip: catboost==1.2.10
# keep: catboost_info/test_error.tsv
"""fit of CatBoost: 9:	learn: 0.3	test: 0.4	best: 0.4 (9)	total: 1ms, and bestTest = at the end."""
import catboost
from tiny import right, rows

data = rows()
x, y = [r[0] for r in data], [r[1] for r in data]
model = catboost.CatBoostClassifier(iterations=20, depth=2, thread_count=1, random_seed=1, verbose=5, learning_rate=0.3)
model.fit(x[:150], y[:150], eval_set=(x[150:], y[150:]))
losses = model.get_evals_result()["validation"]["Logloss"]
right(("test", "-", f"{losses[-1]:.7f}"), ("bestTest", "-", f"{min(losses):.10g}"))
