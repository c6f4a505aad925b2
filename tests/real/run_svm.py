# pip: numpy==2.4.6
# run: apt-get install -qq --no-install-recommends libsvm-tools liblinear-tools weka >/dev/null && python3 -u "$SCRIPT"
"""LIBSVM 3.24, LIBLINEAR 2.3.0 and Weka 3.6.14 of Debian 12: accuracies of a test and of a cross-validation, counts before per cents."""
import re
import subprocess

import numpy

from tiny import right

rng = numpy.random.default_rng(7)
x = rng.normal(size=(300, 5))
y = (x.sum(1) + rng.normal(size=300) > 0).astype(int)
for name, begin, end in (("train", 0, 200), ("test", 200, 300)):
    with open(name, "w", encoding="utf-8") as out:
        for i in range(begin, end):
            print(2 * y[i] - 1, *(f"{k + 1}:{v:.4f}" for k, v in enumerate(x[i])), file=out)
with open("all.arff", "w", encoding="utf-8") as out:
    print("@relation t", *(f"@attribute a{k} numeric" for k in range(5)), "@attribute class {n,p}", "@data", sep="\n", file=out)
    for i in range(300):
        print(*(f"{v:.4f}" for v in x[i]), "np"[y[i]], sep=",", file=out)
text = ""
for command in ("svm-train train model", "svm-predict test model out", "svm-train -v 5 train", "liblinear-train -C -s 0 train",
                "java -cp /usr/share/java/weka.jar weka.classifiers.trees.J48 -t all.arff -x 5"):
    text += subprocess.run(command.split(), check=True, capture_output=True, text=True).stdout
print(text)


def last(pattern):
    return re.findall(pattern, text)[-1]


right(("Accuracy", "-", last(r"(?m)^Accuracy = (\S+)%")), ("Cross Validation Accuracy", "-", last(r"Cross Validation Accuracy = (\S+)%")),
      ("CV accuracy", "-", last(r"CV accuracy = (\S+)%")), ("obj", "-", last(r"obj = ([-.0-9]+)")),
      ("Kappa statistic", "-", last(r"Kappa statistic +(\S+)")), ("Root mean squared error", "-", last(r"Root mean squared error +(\S+)")))
