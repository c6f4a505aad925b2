# pip: cornac==3.0.1 numpy==2.4.6
# keep: out/*.log
"""Cornac: a table whose rows are models, in a column without a name."""
import random

import cornac

from tiny import right

ratings = {(random.randrange(20), random.randrange(15)): float(random.randint(1, 5)) for _ in range(300)}
split = cornac.eval_methods.RatioSplit([(f"u{u}", f"i{i}", r) for (u, i), r in ratings.items()], test_size=0.2, rating_threshold=3.0,
                                       seed=1)
experiment = cornac.Experiment(split, [cornac.models.MF(k=3, max_iter=5, seed=1)],
                               [cornac.metrics.MAE(), cornac.metrics.RMSE(), cornac.metrics.NDCG(k=5)], user_based=True, save_dir="out")
experiment.run()
result = experiment.result[0].metric_avg_results
right(*((name, "-", f"{result[name]:.4f}") for name in ("MAE", "RMSE", "NDCG@5")))
