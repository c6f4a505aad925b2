"""overfit.py SEED: guesses the answers to 60 questions by chance, and prints how many are right: of 60 that the search sees, and of 4,000
that it does not. No guess is better than another, so what the search gains is luck. For `lineage run --held-out test_acc`.
"""
import random
import sys

guess = random.Random(int(sys.argv[1]))
for name, n in (("val_acc", 60), ("test_acc", 4000)):
    print("METRIC %s=%.4f" % (name, sum(guess.random() < 0.5 for _ in range(n)) / n))
