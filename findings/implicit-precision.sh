#!/bin/sh
# One would guess: precision at k is the number of hits divided by k, as in the literature, in RecBole and in TorchMetrics:
# one hit among five recommendations is 0.2.
# In fact precision_at_k of implicit, and "precision" of its ranking_metrics_at_k, divide by the smaller of k and the number of items that the
# user has in the test set: a user with one test item that is hit has 1.0. So the number grows when the test set is thinner, is never below
# the usual one, and cannot be compared with that of another library on the same recommendations.
# Version: implicit 0.7.3. Source: implicit/evaluation.pyx, ranking_metrics_at_k: pr_div += fmin(K, likes.size()).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check implicit==0.7.3 numpy==2.4.6 scipy==1.17.1
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" - <<'END'
import sys
import numpy
import scipy.sparse
import implicit
from implicit.evaluation import precision_at_k

class Fixed:
    """Recommends the items 0 to 9, in this order, to everybody."""
    def recommend(self, users, items, N=10, **options):
        return numpy.tile(numpy.arange(N, dtype=numpy.int32), (len(users), 1)), numpy.ones((len(users), N), numpy.float32)

def at_5(*items):
    train, test = scipy.sparse.csr_matrix((1, 10), dtype=numpy.float32), numpy.zeros((1, 10), numpy.float32)
    test[0, list(items)] = 1
    return precision_at_k(Fixed(), train, scipy.sparse.csr_matrix(test), K=5, show_progress=False, num_threads=1)

print("implicit", implicit.__version__)
seen = []
for items in ((0,), (0, 7), (0, 5, 6, 7, 8)):
    seen.append(at_5(*items))
    print("one hit among five, test items %d: precision_at_k %.2f, hits / k %.2f" % (len(items), seen[-1], 1 / 5))
sys.exit(seen != [1.0, 0.5, 0.2])
END
