"""What the scripts share: tables, a tiny language model, and right.tsv."""
import os
import random

random.seed(7)


def rows(n=200):
    """Two numbers and the class that they decide, with noise."""
    out = []
    for _ in range(n):
        x, y = random.gauss(0, 1), random.gauss(0, 1)
        out.append(([x, y], int(x + y + random.gauss(0, 0.5) > 0)))
    return out


def right(*lines):
    """Writes NAME, FILE, VALUE for each line; FILE - is the output."""
    with open("right.tsv", "w", encoding="utf-8") as out:
        for name, file, value in lines:
            out.write(f"{name}\t{file}\t{value}\n")


def language_model(path="tiny-lm"):
    """A causal model with random weights and a tokenizer of whole words, so that nothing is downloaded."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
    words = ["<pad>", "<eos>", "<unk>"] + [f"w{i}" for i in range(60)] + ["good", "bad", "film", "a", "the", "is", "yes", "no", "?"]
    words_of = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    words_of.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words_of, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>",
                                        padding_side="left", model_max_length=64)
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }} {% endfor %}"
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_positions=64, n_embd=16, n_layer=1, n_head=2, bos_token_id=1,
                                       eos_token_id=1, pad_token_id=0))
    os.makedirs(path, exist_ok=True)
    tokenizer.save_pretrained(path)
    model.save_pretrained(path)
    return path
