# pip: river==0.26.1
"""river: [1,000] Accuracy: 89.10%, and lines below it without the number of examples."""
from river import datasets, evaluate, linear_model, metrics, preprocessing
from tiny import right

model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy() + metrics.F1() + metrics.LogLoss(), print_every=500)
print(metric)
accuracy, f1, loss = (part.get() for part in metric)
right(("Accuracy", "-", f"{100 * accuracy:.2f}"), ("F1", "-", f"{100 * f1:.2f}"), ("LogLoss", "-", loss))
