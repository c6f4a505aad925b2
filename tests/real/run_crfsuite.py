# pip: python-crfsuite==0.9.12
"""CRFsuite: fractions with their quotient."""
import random

import pycrfsuite

from tiny import right

trainer = pycrfsuite.Trainer(verbose=True)
for k in range(40):
    labels = [random.choice("AB") for _ in range(5)]
    trainer.append(["w=" + label if random.random() < 0.8 else "w=z" for label in labels], labels, k % 4 == 0)
trainer.set_params({"max_iterations": 5})
trainer.train("model.crf", holdout=1)
last = trainer.logparser.last_iteration
right(("loss", "-", last["loss"]), ("Item accuracy", "-", last["item_accuracy_float"]),
      ("Instance accuracy", "-", last["instance_accuracy_float"]))
