# pip: flair==0.15.1
# keep: fl/loss.tsv
"""A text classifier of flair: "DEV : loss 0.0096 - f1-score (micro avg)  1.0", and loss.tsv with four digits."""
import os

import flair
from flair.datasets import ClassificationCorpus
from flair.embeddings import DocumentRNNEmbeddings, OneHotEmbeddings
from flair.models import TextClassifier
from flair.trainers import ModelTrainer
from tiny import right

flair.set_seed(0)
os.mkdir("d")
for part, n in (("train", 80), ("dev", 20), ("test", 20)):
    with open(f"d/{part}.txt", "w", encoding="utf-8") as out:
        out.writelines(f"__label__{'PN'[i % 2]} the movie was {('good', 'bad', 'fine', 'poor')[i % 4]}\n" for i in range(n))
corpus = ClassificationCorpus("d", label_type="c")
embeddings = DocumentRNNEmbeddings([OneHotEmbeddings.from_corpus(corpus, min_freq=1, embedding_length=8)], hidden_size=8)
model = TextClassifier(embeddings, label_dictionary=corpus.make_label_dictionary("c"), label_type="c")
ModelTrainer(model, corpus).train("fl", learning_rate=0.1, mini_batch_size=16, max_epochs=3)
last = [line.split("\t") for line in open("fl/loss.tsv", encoding="utf-8")][-1]
dev = [line for line in open("output.txt", encoding="utf-8") if "DEV : loss" in line][-1].split("DEV : loss ")[1].split()[0]
right(("DEV : loss", "-", dev), ("dev_loss", "fl/loss.tsv", last[4]))
