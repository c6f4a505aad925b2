"""Trains a tiny model of PyTorch with TRL's own loss and with ours, and compares the parameters afterwards.

    LINEAGE_UPSTREAM=FOLDER python3 tests/python/upstream_trl.py

TRL's tests of its losses (test_train_loss_types and those of the entropy bonus in tests/test_grpo_trainer.py) download a model,
a dataset and a reward model, and train with transformers' Trainer. Here the model is a small recurrent one with random
weights, the batches are random, and a loop takes the place of the Trainer: it accumulates over micro-batches as the Trainer does.
Log-probs and entropies are computed by TRL's own method. Checked are what TRL's tests check (every parameter changes; the bonus
is entropy_coef times the mean entropy), and that both losses lead to the same parameters.

Prints a line of JSON: the largest difference of a parameter after the training, relative to its largest change, by setting."""

import copy
import json
import sys
import types
import warnings

import torch
import upstream_drift
import upstream_sources
from torch import nn

VOCABULARY, PROMPT, WIDTH, ROWS, STEPS, PARTS = 11, 3, 8, 6, 5, 2

#: (lineage_loss, loss_type, importance_sampling_level, further settings). The first ones are those of test_train_loss_types.
SETTINGS = [(loss, kind, level, {}) for loss, kind, level in upstream_drift.SAME] + [
    ("vanilla", "dapo", "token", {"entropy_coef": 0.5}),
    ("vanilla", "grpo", "token", {"entropy_coef": 0.5, "top_entropy_quantile": 0.5}),
    ("vanilla", "dr_grpo", "token", {"delta": 1.5}),
    ("vanilla", "bnpo", "token", {"off_policy_mask_threshold": 0.05}),
    ("gspo", "grpo", "sequence", {"use_vllm": True}),
    ("cispo", "cispo", "token", {"use_vllm": True}),
]


class Model(nn.Module):
    """A language model of about 1,100 parameters in double precision."""

    def __init__(self):
        super().__init__()
        self.embedding, self.body, self.head = nn.Embedding(VOCABULARY, 8), nn.GRU(8, 12, batch_first=True), nn.Linear(12, VOCABULARY)
        self.double()

    def forward(self, input_ids, attention_mask, **_):
        hidden, _ = self.body(self.embedding(input_ids) * attention_mask[:, :, None])
        return types.SimpleNamespace(logits=self.head(hidden))


def batches(seed):
    """Two micro-batches, their samplers' log-probs a little away from the policy's, as after some updates."""
    random = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(PARTS):
        length = torch.randint(2, WIDTH + 1, (ROWS, 1), generator=random)
        noise = torch.randn((3, ROWS, WIDTH), generator=random, dtype=torch.float64)
        found.append(dict(
            prompt_ids=torch.randint(0, VOCABULARY, (ROWS, PROMPT), generator=random), prompt_mask=torch.ones((ROWS, PROMPT), dtype=torch.long),
            completion_ids=torch.randint(0, VOCABULARY, (ROWS, WIDTH), generator=random),
            completion_mask=(torch.arange(WIDTH) < length).long(), tool_mask=(noise[0] > -1).long(),
            advantages=torch.randn(ROWS, generator=random, dtype=torch.float64), noise=noise,
        ))  # fmt: skip
    total = sum((one["completion_mask"] * one["tool_mask"]).sum() for one in found)
    return [{**one, "num_items_in_batch": total} for one in found]


def log_probs(trainer, model, inputs):
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    return trainer._get_per_token_logps_and_entropies(model, ids, mask, WIDTH, compute_entropy=True)


def with_sampler(trainer, model, inputs):
    with torch.no_grad():
        logps = log_probs(trainer, model, inputs)[0]
    old, noise = logps + 0.2 * inputs["noise"][1], inputs["noise"]
    ratio = (0.2 * noise[2]).exp()
    return {**inputs, "old_per_token_logps": old, "sampling_per_token_logps": old - ratio.log(), "importance_sampling_ratio": ratio}


def train(trainer, model):
    """Returns the largest change of each parameter."""
    before = {name: value.clone() for name, value in model.named_parameters()}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    parts = [with_sampler(trainer, model, one) for one in batches(1)]
    for _ in range(STEPS):
        optimizer.zero_grad()
        for inputs in parts:
            trainer._compute_loss(model, inputs).backward()
        optimizer.step()
    return {name: float((value - before[name]).detach().abs().max()) for name, value in model.named_parameters()}


def check_bonus(trainer, model, coefficient):
    """The loss with the bonus is smaller by the coefficient times the mean entropy, as in test_entropy_bonus_scale."""
    (inputs,) = [with_sampler(trainer, model, one) for one in batches(2)[:1]]
    mask = inputs["completion_mask"] * inputs["tool_mask"]
    inputs["num_items_in_batch"], trainer.current_gradient_accumulation_steps = mask.sum() * trainer.accelerator.num_processes, 1
    trainer.top_entropy_quantile = 1.0
    entropies = log_probs(trainer, model, inputs)[1]
    assert entropies.requires_grad
    loss = trainer._compute_loss(model, inputs)
    trainer.entropy_coef = 0.0
    bonus = float(trainer._compute_loss(model, inputs) - loss)
    assert abs(bonus / float((entropies * mask).sum() / mask.sum()) - coefficient) < 1e-9, bonus


def main():
    if upstream_sources.folder("trl") is None:
        sys.exit(upstream_sources.missing("trl"))
    warnings.simplefilter("ignore")
    kinds = upstream_drift.trl_trainers(own_log_probs=True)
    found = {}
    for loss, loss_type, level, more in SETTINGS:
        settings = upstream_drift.trl_settings(upstream_drift.Random(0), loss, loss_type, level)
        args = settings["args"]
        args.delta, args.report_to = more.get("delta"), []
        args.sapo_temperature_pos, args.sapo_temperature_neg = 1.0, 1.05
        settings.update(
            off_policy_mask_threshold=None, top_entropy_quantile=1.0, use_vllm=False, aux_loss_enabled=False, entropy_coef=0.0,
            current_gradient_accumulation_steps=PARTS, temperature=0.9, model_kwarg_keys=set(),
            model=types.SimpleNamespace(training=True), state=types.SimpleNamespace(global_step=0),
        )  # fmt: skip
        settings.update({name: value for name, value in more.items() if name != "delta"})
        settings["_entropy_bonus_enabled"] = settings["entropy_coef"] != 0.0
        torch.manual_seed(0)
        models = [Model()]
        models.append(copy.deepcopy(models[0]))
        trainers = [upstream_drift.trl_made(kind, settings, loss) for kind in kinds]
        changes = [train(trainer, model) for trainer, model in zip(trainers, models)]
        assert all(change > 1e-6 for one in changes for change in one.values()), "a parameter has not changed"
        theirs, ours = (dict(model.named_parameters()) for model in models)
        name = ", ".join([loss_type, level, *(f"{key}={value}" for key, value in more.items())])
        found[name] = max(float((theirs[key] - ours[key]).detach().abs().max()) / changes[0][key] for key in theirs)
        if settings["entropy_coef"]:
            for trainer, model in zip(trainers, models):
                check_bonus(trainer, model, settings["entropy_coef"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
