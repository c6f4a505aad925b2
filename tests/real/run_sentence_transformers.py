# pip: sentence-transformers==6.2.0 transformers==5.24.0 torch==2.15.0 datasets
# keep: out/checkpoint-*/trainer_state.json
"""SentenceTransformerTrainer with an evaluator, whose metrics have names such as eval_dev_spearman_cosine."""
import random
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator
from sentence_transformers.models import Pooling, Transformer
from transformers import BertConfig, BertModel, AutoTokenizer
from tiny import language_model, right

torch.manual_seed(1)
random.seed(1)
tokenizer = AutoTokenizer.from_pretrained(language_model("words"))
BertModel(BertConfig(vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)).save_pretrained("bert")
tokenizer.save_pretrained("bert")
words = Transformer("bert", max_seq_length=16)
model = SentenceTransformer(modules=[words, Pooling(16)], device="cpu")
pairs = [(f"w{a} w{a + 1}", f"w{a} w{b}", float(b == a + 1)) for a in range(40) for b in (a + 1, a + 7)]
data = Dataset.from_dict({"sentence1": [p[0] for p in pairs], "sentence2": [p[1] for p in pairs], "score": [p[2] for p in pairs]})
dev = EmbeddingSimilarityEvaluator([p[0] for p in pairs[:30]], [p[1] for p in pairs[:30]], [p[2] for p in pairs[:30]], name="dev")
trainer = SentenceTransformerTrainer(model, SentenceTransformerTrainingArguments("out", num_train_epochs=2, eval_strategy="epoch", save_strategy="epoch",
                                     save_total_limit=1, logging_steps=3, report_to="none", use_cpu=True), train_dataset=data, eval_dataset=data, loss=losses.CosineSimilarityLoss(model), evaluator=dev)
trainer.train()
last = [x for x in trainer.state.log_history if "eval_loss" in x][-1]
state = f"out/checkpoint-{trainer.state.global_step}/trainer_state.json"
right(("eval_loss", "-", f"{last['eval_loss']:.4g}"), ("eval_dev_spearman_cosine", "-", f"{last['eval_dev_spearman_cosine']:.4g}"),
      ("eval_dev_spearman_cosine", state, last["eval_dev_spearman_cosine"]))
