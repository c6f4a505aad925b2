# pip: scikit-learn==1.9.1
"""Gradient boosting prints a table, MLPClassifier `Iteration 9, loss = 0.3`, classification_report a table with averages."""
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import accuracy_score, classification_report
from sklearn.neural_network import MLPClassifier
from tiny import right, rows

data = rows()
x, y = [r[0] for r in data], [r[1] for r in data]
boosting = GradientBoostingClassifier(n_estimators=10, verbose=1, random_state=1).fit(x[:150], y[:150])
mlp = MLPClassifier((8,), max_iter=15, verbose=True, random_state=1, learning_rate_init=0.05).fit(x[:150], y[:150])
print(classification_report(y[150:], mlp.predict(x[150:]), digits=4))
print("Test accuracy:", accuracy_score(y[150:], mlp.predict(x[150:])))
right(("Train Loss", "-", f"{boosting.train_score_[-1]:.4f}"), ("loss", "-", f"{mlp.loss_:.8f}"),
      ("test_accuracy", "-", accuracy_score(y[150:], mlp.predict(x[150:]))), ("accuracy", "-", accuracy_score(y[150:], mlp.predict(x[150:]))))
