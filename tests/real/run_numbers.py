# pip: nltk==3.10.4 casadi openTSNE implicit scikit-learn
"""Programs whose table has a closing row (NLTK), dots before numbers (Ipopt), a sentence (openTSNE) or a bar (implicit)."""
import casadi
import implicit
import nltk
import numpy
import openTSNE
import scipy.sparse

right = []
rows = [({"a": i % 3, "b": i % 2}, "x" if i % 3 else "y") for i in range(60)]
model = nltk.classify.MaxentClassifier.train(rows, algorithm="iis", trace=3, max_iter=6)
right += [("Log Likelihood", round(nltk.classify.util.log_likelihood(model, rows), 5)), ("Accuracy", nltk.classify.accuracy(model, rows))]

x, y = casadi.MX.sym("x"), casadi.MX.sym("y")
solver = casadi.nlpsol("s", "ipopt", {"x": casadi.vertcat(x, y), "f": (1 - x) ** 2 + 100 * (y - x**2) ** 2 + 0.25})
right.append(("objective", float("%.7e" % float(solver(x0=[-1.2, 1])["f"]))))

points = numpy.random.RandomState(0).randn(150, 5)
embedding = openTSNE.TSNE(verbose=True, n_iter=150, early_exaggeration_iter=100, random_state=0).fit(points)
right.append(("KL divergence", round(float(embedding.kl_divergence), 4)))

ratings = scipy.sparse.random(100, 50, 0.1, random_state=0, format="csr")
losses = []
factors = implicit.als.AlternatingLeastSquares(factors=8, iterations=8, calculate_training_loss=True, random_state=0)
factors.fit(ratings, callback=lambda epoch, seconds, loss: losses.append(loss))
right.append(("loss", float("%.3g" % losses[-1])))

with open("right.tsv", "w") as out:
    out.writelines(f"{name}\t-\t{value!r}\n" for name, value in right)
