# pip: simpletransformers==0.70.8 transformers==5.24.0 torch==2.15.0 pandas==3.1.1 numpy==2.4.6
# keep: out/eval_results.txt out/training_progress_scores.csv
"""Simple Transformers: the last line is a dictionary; its files have all digits."""
import os

import pandas
from simpletransformers.classification import ClassificationModel
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

from tiny import right

os.makedirs("model")
with open("model/vocab.txt", "w", encoding="utf-8") as out:
    out.write("\n".join("[PAD] [UNK] [CLS] [SEP] [MASK] good bad film a the is".split()))
BertTokenizer("model/vocab.txt").save_pretrained("model")
BertForSequenceClassification(BertConfig(vocab_size=11, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                         intermediate_size=16)).save_pretrained("model")
data = pandas.DataFrame([["good film", 1], ["bad film", 0]] * 20, columns=["text", "labels"])
model = ClassificationModel("bert", "model", use_cuda=False, args={
    "num_train_epochs": 2, "output_dir": "out", "evaluate_during_training": True, "evaluate_during_training_steps": 5,
    "use_multiprocessing": False, "use_multiprocessing_for_evaluation": False, "dataloader_num_workers": 0, "process_count": 1})
model.train_model(data, eval_df=data)
result, _, _ = model.eval_model(data, output_dir="other")
print(result)
last = pandas.read_csv("out/training_progress_scores.csv").iloc[-1]
right(("eval_loss", "-", result["eval_loss"]), ("f1_score", "-", result["f1_score"]),
      ("eval_loss", "out/eval_results.txt", last["eval_loss"]), ("eval_loss", "out/training_progress_scores.csv", last["eval_loss"]))
