"""Trains a tiny model with TRL's own GRPOTrainer, once with its loss and once with LineageLossMixin, and compares the parameters.

    python3 tests/python/upstream_trainer.py [--few]      with the Python of sh tests/python/upstream.sh

A random Qwen2 of one layer, five steps of SGD, for every loss type, steps_per_generation, gradient accumulation and entropy bonus.
--few: a sixth of the settings. Exit status 1 if the change of the parameters differs by more than 1e-5 of its size."""

import copy
import itertools
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
os.environ.update(HF_HUB_OFFLINE="1", TRL_EXPERIMENTAL_SILENCE="1", TQDM_DISABLE="1")

import torch  # noqa: E402
import transformers  # noqa: E402
import trl  # noqa: E402
from datasets import Dataset  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402

from lineage.trl import LineageLossMixin  # noqa: E402

LIMIT = 1e-5
WORDS = ["<pad>", "<eos>", "<unk>"] + [f"w{i}" for i in range(29)]

#: (lineage_loss, loss_type, further settings)
LOSSES = [("vanilla", kind, {}) for kind in ("grpo", "bnpo", "dr_grpo", "dapo")]
LOSSES += [("gspo", kind, {"importance_sampling_level": "sequence"}) for kind in ("grpo", "dapo")]
LOSSES += [("cispo", "cispo", {"epsilon_high": 3.0}), ("sapo", "sapo", {}), ("vespo", "vespo", {}), ("vanilla", "luspo", {})]
LOSSES += [("gspo", "luspo", {"importance_sampling_level": "sequence"})]


class Ours(LineageLossMixin, trl.GRPOTrainer):
    pass


def tokenizer():
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left"
    )


def policy():
    torch.manual_seed(0)
    return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
        vocab_size=len(WORDS), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=64, eos_token_id=1, pad_token_id=0, bos_token_id=1,
    ))  # fmt: skip


def reward(completion_ids, **_):
    return [sum(token % 3 == 0 for token in tokens) / max(len(tokens), 1) for tokens in completion_ids]


def train(kind, model, folder, settings):
    """The parameters after five steps."""
    transformers.set_seed(1)
    model = copy.deepcopy(model)
    args = trl.GRPOConfig(
        output_dir=folder, per_device_train_batch_size=4, num_generations=4, max_completion_length=8, max_steps=5, learning_rate=1e-2,
        lr_scheduler_type="constant", optim="sgd", max_grad_norm=1e9, report_to=[], logging_strategy="no", use_cpu=True, bf16=False,
        save_strategy="no", disable_tqdm=True, seed=1, **settings,
    )  # fmt: skip
    data = Dataset.from_list([{"prompt": f"w{i % 29} w{i * 7 % 29}"} for i in range(16)])
    kind(model=model, reward_funcs=reward, args=args, train_dataset=data, processing_class=tokenizer()).train()
    return torch.cat([one.detach().flatten() for one in model.parameters()])


def main():
    torch.set_num_threads(1)
    sys.stdout, out = open(os.devnull, "w"), sys.stdout  # the trainer prints its summary
    base, worst = policy(), 0.0
    start = torch.cat([one.detach().flatten() for one in base.parameters()])
    every = list(itertools.product(LOSSES, (1, 2), (1, 2), (0.0, 0.05)))
    chosen = every[::6] if "--few" in sys.argv else every
    with tempfile.TemporaryDirectory() as folder:
        for (loss, loss_type, more), accumulation, factor, entropy in chosen:
            settings = dict(
                loss_type=loss_type, gradient_accumulation_steps=accumulation, steps_per_generation=factor * accumulation,
                entropy_coef=entropy, **more,
            )  # fmt: skip
            their = train(trl.GRPOTrainer, base, folder, settings)
            own = train(type("Trainer", (Ours,), {"lineage_loss": loss}), base, folder, settings)
            difference = float((their - own).norm() / (their - start).norm().clamp(min=1e-12))
            worst = max(worst, difference)
            print(f"{loss}, {loss_type}: accumulation {accumulation}, steps_per_generation {factor * accumulation}, "
                  f"entropy_coef {entropy}: {difference:.1e}", file=out, flush=True)  # fmt: skip
    print(f"TRL {trl.__version__}, transformers {transformers.__version__}, PyTorch {torch.__version__}: {len(chosen)} trainings of "
          f"five steps, largest difference {worst:.1e}", file=out)  # fmt: skip
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
