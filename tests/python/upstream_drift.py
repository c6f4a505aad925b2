"""How far our functions are from the trainers' own: values and gradients on random batches, per release.

    python3 tests/python/upstream_drift.py [--batches 500] [--write]     with the Python of sh tests/python/upstream.sh

--write replaces the tables of schema/UPSTREAM.md. One project per process, since
the stubs are for the whole process: the script starts itself with --project NAME. Exit status 1 if a difference is
above the limit. All batches are in double precision; a difference is relative to the largest value of upstream's result,
and to 1 where that is smaller.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import types

import numpy as np
import torch
import upstream_sources

#: Above this a difference counts as another definition. verl's grpo_vectorized, and its gdpo with parts of a reward, compute
#: the mean and spread of a group in single precision, which a group with almost equal rewards shows; TRL has
#: the powers of vespo in single precision.
LIMIT = {"value": 1e-6, "gradient": 1e-6}
LOOSE = {"advantage, grpo_vectorized": 1e-3, "advantage, gdpo": 1e-4, "vespo, token": 1e-5}
PAGE = pathlib.Path(__file__).resolve().parents[2] / "schema/UPSTREAM.md"


class Random:
    """Random batches: rows of different lengths, tools' tokens in between, and sometimes a row without any token."""

    def __init__(self, seed):
        self.torch, self.numpy = torch.Generator().manual_seed(seed), np.random.default_rng(seed)

    def normal(self, *shape):
        return torch.randn(shape, generator=self.torch, dtype=torch.float64)

    def pick(self, choices):
        return choices[int(self.numpy.integers(len(choices)))]

    def uniform(self, low, high):
        return float(self.numpy.uniform(low, high))

    def batch(self):
        rows, width = 2 * int(self.numpy.integers(1, 6)), int(self.numpy.integers(3, 24))
        mask = (torch.rand((rows, width), generator=self.torch) > 0.25).double()
        mask[0, 0] = 1
        if self.numpy.random() < 0.3:
            mask[-1] = 0
        log_prob = -self.normal(rows, width).abs() - 0.01
        return types.SimpleNamespace(
            rows=rows, width=width, mask=mask, log_prob=log_prob, old=log_prob + 0.3 * self.normal(rows, width),
            advantages=self.normal(rows, 1), index=np.array([f"q{i // 2}" for i in range(rows)], dtype=object),
        )  # fmt: skip


def difference(theirs, ours):
    if theirs is None or ours is None:
        theirs, ours = (torch.zeros(1) if one is None else one for one in (theirs, ours))
    scale = max(1.0, float(theirs.detach().abs().max()))
    return float((theirs.detach().double() - ours.detach().double()).abs().max()) / scale


class Table:
    """The largest differences by the name of a function."""

    def __init__(self):
        self.rows = collections.defaultdict(lambda: {"batches": 0, "value": 0.0, "gradient": None})

    def value(self, name, theirs, ours):
        row = self.rows[name]
        row["batches"] += 1
        row["value"] = max(row["value"], difference(theirs, ours))

    def loss(self, name, leaf, theirs, ours):
        """theirs and ours: functions of a log_prob that return a loss."""
        found = []
        for function in (theirs, ours):
            input = leaf.clone().requires_grad_(True)
            loss = function(input)
            (gradient,) = torch.autograd.grad(loss, input)
            found.append((loss, gradient))
        self.value(name, found[0][0], found[1][0])
        row = self.rows[name]
        # A gradient is divided by the counts of the batch, so that it is compared with its own largest entry.
        scale = float(found[0][1].abs().max()) or 1.0
        row["gradient"] = max(row["gradient"] or 0.0, difference(found[0][1] / scale, found[1][1] / scale))


# ---- verl ----

MODES = ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm")


def verl_config(random, actor, b):
    info = {}
    if random.pick((True, False)):
        ranks = random.pick((1, 2, 4))
        info = dict(dp_size=ranks, batch_num_tokens=int(b.mask.sum()) * ranks + 3, global_batch_size=b.rows * ranks)
        info["loss_scale_factor"] = random.pick((None, 100))
    low = random.pick((None, 0.1, 0.2))
    made = actor(
        strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1, clip_ratio=0.25, clip_ratio_low=low, clip_ratio_high=0.3,
        clip_ratio_c=random.uniform(1.5, 4), tau_pos=random.uniform(0.5, 2), tau_neg=random.uniform(0.5, 2),
        loss_agg_mode=random.pick(MODES), global_batch_info=info,
    )  # fmt: skip
    object.__setattr__(made.policy_loss, "dro_beta", random.uniform(0.1, 1))
    return made


def verl(batches):
    import upstream_verl

    core_algos, _ = upstream_verl.load()
    from verl.workers.config.actor import ActorConfig

    from lineage import verl as adapter

    table = Table()
    for number in range(batches):
        random = Random(number)
        b = random.batch()
        config = verl_config(random, ActorConfig, b)
        weights = random.pick((None, (0.3 * random.normal(b.rows, b.width)).exp()))
        for name, theirs in upstream_verl.LOSSES.items():
            if not hasattr(core_algos, f"compute_{theirs}"):
                continue  # dro, which 0.9.0 lacks
            given = dict(
                old_log_prob=b.old, advantages=b.advantages.expand(b.rows, b.width), response_mask=b.mask,
                loss_agg_mode=config.loss_agg_mode, config=config, rollout_is_weights=weights,
            )  # fmt: skip
            function = getattr(core_algos, f"compute_{theirs}")
            ours = adapter.LOSSES[f"lineage_{name}"]
            table.loss(name, b.log_prob, lambda x: function(log_prob=x, **given)[0], lambda x: ours(log_prob=x, **given)[0])
        info = config.global_batch_info
        for mode in MODES:
            table.loss(
                f"agg_loss, {mode}", random.normal(b.rows, b.width), lambda x: core_algos.agg_loss(x, b.mask, mode, **info),
                lambda x: adapter.aggregate(x, b.mask, mode, **info),
            )  # fmt: skip
        rewards = torch.zeros((b.rows, b.width), dtype=torch.float64)
        rewards[:, -1] = random.normal(b.rows)
        algorithm = types.SimpleNamespace(gamma=random.pick((1.0, 0.9)))
        algorithm.get = lambda name, default=None, of=algorithm: getattr(of, name, default)
        for name, theirs in upstream_verl.ESTIMATORS.items():
            given = dict(response_mask=b.mask, index=b.index, config=algorithm)
            if name == "reinforce_plus_plus":
                rewards = rewards + 0.1 * random.normal(b.rows, b.width)
            if name == "remax":
                given["reward_baselines"] = random.normal(b.rows)
            function = getattr(core_algos, f"compute_{theirs}")
            # verl's functions write into their rewards, and some lose those at masked tokens, which ours move
            used = rewards * b.mask if name in adapter._AT_RESPONSES else rewards
            found = function(token_level_rewards=used.clone(), **given)
            own = adapter.ESTIMATORS[f"lineage_{name}"](token_level_rewards=used.clone(), **given)
            table.value(f"advantage, {name}", found[0] * b.mask, own[0] * b.mask)
        verl_replaced(core_algos, adapter, random, b, algorithm, table)
    return table.rows


def verl_replaced(core_algos, adapter, random, b, algorithm, table):
    """The estimators that take the place of verl's, with the arguments that verl's trainer passes. Returns are compared, too."""
    mask = b.mask.clone()
    mask[0, :2] = 1  # whitening needs two tokens
    rewards = random.normal(b.rows, b.width) * 0.3 * mask
    algorithm.gdpo_reward_keys, algorithm.gdpo_reward_weights = ["format", "accuracy", "length"], random.pick((None, [1.0, 0.5, 2.0]))
    parts = {key: random.normal(b.rows).float().double().numpy() for key in algorithm.gdpo_reward_keys}
    prompts = torch.ones((b.rows, 2), dtype=torch.long)
    attention = torch.cat([prompts, torch.ones((b.rows, b.width), dtype=torch.long)], dim=1)
    energy = dict(
        old_log_probs=b.old.clamp(max=-0.01), sum_pi_squared=random.normal(b.rows, b.width).abs() * 0.1,
        rollout_is_weights=random.pick((None, (0.3 * random.normal(b.rows, b.width)).exp())),
    )  # fmt: skip
    given = dict(response_mask=mask, index=b.index, config=algorithm)
    calls = {
        "gae": dict(values=random.normal(b.rows, b.width), response_mask=mask, gamma=algorithm.gamma, lam=random.pick((1.0, 0.95))),
        "optimal_token_baseline": {**given, **energy},
        "tir_optimal_token_baseline": {**given, **energy},
        "gdpo of one reward": dict(response_mask=mask, index=b.index),
        "gdpo": dict(given, non_tensor_batch=parts, batch={"prompts": prompts, "attention_mask": attention}),
    }
    for name, call in calls.items():
        function = name.split()[0]
        found = getattr(core_algos, adapter.REPLACEABLE[function])(token_level_rewards=rewards.clone(), **call)
        own = adapter.ESTIMATORS[f"lineage_{function}"](token_level_rewards=rewards.clone(), **call)
        table.value(f"advantage, {name}", torch.stack(found) * mask, torch.stack(own) * mask)


# ---- TRL ----

#: (lineage_loss, loss_type, importance_sampling_level) that mean the same as TRL's own loss.
SAME = [("vanilla", kind, "token") for kind in ("grpo", "bnpo", "dr_grpo", "dapo")]
SAME += [("gspo", kind, "sequence") for kind in ("grpo", "bnpo", "dr_grpo", "dapo")]
SAME += [("cispo", "cispo", "token"), ("sapo", "sapo", "token"), ("vespo", "vespo", "token"), ("vanilla", "luspo", "token")]
SAME += [("gspo", "luspo", "sequence")]


def trl_accelerator():
    return types.SimpleNamespace(
        num_processes=2, is_main_process=True, sync_gradients=True, gather=lambda x: x, gather_for_metrics=lambda x: x,
        reduce=lambda x, reduction: x, pad_across_processes=lambda x, dim, pad_index: x,
    )  # fmt: skip


def trl_settings(random, loss, loss_type, level):
    """The attributes that GRPOTrainer's _compute_loss reads, at random."""
    high = 3.0 if loss_type == "cispo" else 0.28
    parts = random.pick((1, 4))
    args = types.SimpleNamespace(
        steps_per_generation=random.pick((parts, 2 * parts)), delta=random.pick((None, 1.5, 4.0)) if loss == "vanilla" else None, sapo_temperature_pos=random.uniform(0.5, 2),
        sapo_temperature_neg=random.uniform(0.5, 2), use_bias_correction_kl=False,
        **{name: random.uniform(1, 3) for name in ("vespo_k_pos", "vespo_lambda_pos", "vespo_k_neg", "vespo_lambda_neg")},
    )  # fmt: skip
    coefficient = random.pick((0.0, 0.01))
    return dict(
        args=args, loss_type=loss_type, importance_sampling_level=level, beta=0.0, epsilon_low=0.2, epsilon_high=high,
        max_completion_length=40, use_vllm=random.pick((True, False)), vllm_importance_sampling_correction=True,
        off_policy_mask_threshold=random.pick((None, 0.05)), top_entropy_quantile=random.pick((1.0, 0.5)),
        entropy_coef=coefficient, _entropy_bonus_enabled=coefficient != 0.0, use_adaptive_entropy=False,
        aux_loss_enabled=random.pick((True, False)), router_aux_loss_coef=0.1, use_liger_kernel=False,
        current_gradient_accumulation_steps=parts, accelerator=trl_accelerator(),
        model=types.SimpleNamespace(training=random.pick((True, False))),
    )  # fmt: skip


def trl_inputs(random, b):
    prompt = torch.ones((b.rows, 2), dtype=torch.long)
    inputs = dict(
        prompt_ids=prompt, prompt_mask=prompt, completion_ids=torch.ones((b.rows, b.width), dtype=torch.long),
        completion_mask=torch.ones((b.rows, b.width), dtype=torch.long), tool_mask=b.mask.long(),
        advantages=b.advantages[:, 0], num_items_in_batch=torch.tensor(float(4 * b.rows * b.width)),
        importance_sampling_ratio=torch.where(b.mask != 0, random.normal(b.rows, b.width).exp(), 1.0), sampling_per_token_logps=b.old,
    )  # fmt: skip
    if random.pick((True, False)):
        inputs["old_per_token_logps"] = b.old
    return inputs


def trl_trainers(own_log_probs=False):
    """(TRL's trainer, ours) without the parts that load and run a model. own_log_probs: they compute log-probs by TRL's method."""
    upstream_sources.stub_imports()
    sys.path.insert(0, str(upstream_sources.folder("trl")))
    from trl.trainer import grpo_trainer

    from lineage.trl import LineageLossMixin

    theirs = grpo_trainer.GRPOTrainer

    class Trainer:
        get_off_policy_mask = staticmethod(theirs.get_off_policy_mask)
        get_high_entropy_mask = theirs.get_high_entropy_mask
        get_gamma_weights = staticmethod(theirs.get_gamma_weights)

        def _get_per_token_logps_and_entropies(self, model, ids, mask, keep, **_):
            return model, -model * 0.5, (model**2).mean()  # stand-ins for entropies and the router's loss

        _compute_loss = theirs._compute_loss

    if own_log_probs:
        Trainer._get_per_token_logps_and_entropies = theirs._get_per_token_logps_and_entropies

    class Ours(LineageLossMixin, Trainer):
        pass

    return Trainer, Ours


def trl_made(kind, settings, loss):
    trainer = object.__new__(kind)  # without TRL's __init__, which loads a model
    vars(trainer).update(settings, _metrics=collections.defaultdict(lambda: collections.defaultdict(list)), lineage_loss=loss)
    return trainer


def trl(batches):
    import warnings

    warnings.simplefilter("ignore")  # of stubbed packages' versions
    theirs, ours = trl_trainers()
    table = Table()
    for number in range(batches):
        for loss, loss_type, level in SAME:
            random = Random(number)
            b = random.batch()
            if number % 50 == 49:
                b.mask[:] = 0  # a micro-batch without trainable tokens
            settings, inputs = trl_settings(random, loss, loss_type, level), trl_inputs(random, b)
            their, own = trl_made(theirs, settings, loss), trl_made(ours, settings, loss)
            name = f"{loss_type}, {level}"
            table.loss(name, b.log_prob, lambda x: their._compute_loss(x, inputs), lambda x: own._compute_loss(x, inputs))
    return table.rows


# ---- prime-rl ----


def prime(batches):
    upstream_sources.stub_imports()
    sys.path.insert(0, str(upstream_sources.folder("prime-rl") / "src"))
    from prime_rl.trainer.rl import loss as theirs

    from lineage.torch import StreamLoss

    table = Table()
    for number in range(batches):
        random = Random(number)
        lengths = random.numpy.integers(1, 20, size=int(random.numpy.integers(1, 5))).tolist()
        total, start = sum(lengths), np.concatenate([[0], np.cumsum(lengths)])
        log_prob = -random.normal(total).abs() - 0.01
        sampler, reference = log_prob + 0.3 * random.normal(total), log_prob + 0.3 * random.normal(total)
        advantages, mask = random.normal(total), torch.rand(total, generator=random.torch) > 0.3
        streams = {name: random.normal(total).abs() * random.pick((0.0, 1.0)) for name in ("rl_weights", "ce_weights", "ref_kl_weights")}
        if random.pick((True, False)):
            streams = {"rl_weights": None, "ce_weights": None, "ref_kl_weights": None}
        scales = dict(rl_scale=97, ce_scale=85, ref_kl_scale=83)
        options = dict(dppo_mask_low=0.2, dppo_mask_high=0.2, adv_tau=random.uniform(0.5, 2), kl_tau=random.uniform(0, 0.1))
        for name, function in (("default", theirs.default_loss_fn), ("ipo", theirs.ipo_loss_fn)):
            used = dict(options) if name == "default" else dict(
                ipo_threshold=0.15, adv_tau=options["adv_tau"], kl_tau=options["kl_tau"]
            )  # fmt: skip
            config = types.SimpleNamespace(**used)

            def split(flat):
                return None if flat is None else list(torch.split(flat, lengths))

            def their(x):
                return theirs.compute_loss(
                    trainer_logprobs=split(x), inference_logprobs=split(sampler), ref_logprobs=split(reference),
                    advantages=split(advantages), loss_mask=split(mask), rl_loss_fn=lambda inputs: function(inputs, config),
                    **{key: split(value) for key, value in streams.items()}, **scales,
                )[0]  # fmt: skip

            def own(x):
                given = {key: value for key, value in streams.items() if value is not None}
                loss = StreamLoss(name, **used, **{key: float(value) for key, value in scales.items()})
                return loss(x, sampler, advantages, mask, start, ref_logprobs=reference, **given)

            table.loss(name, log_prob, their, own)
    return table.rows


PROJECTS = {"verl": verl, "trl": trl, "prime-rl": prime}


def there():
    """The projects that can be compared here."""
    return [project for project in PROJECTS if upstream_sources.folder(project) is not None]


def page(found):
    """The tables as text."""
    lines = []
    for project, rows in found.items():
        lines += [f"### {project} {upstream_sources.release(project)}", ""]
        lines += ["| function | batches | values | gradients |", "|---|--:|--:|--:|"]
        for name, row in rows.items():
            gradient = "-" if row["gradient"] is None else f"{row['gradient']:.1e}"
            lines.append(f"| {name} | {row['batches']} | {row['value']:.1e} | {gradient} |")
        lines.append("")
    return "\n".join(lines)


def far(name, row):
    """True if the differences of a row are those of another definition."""
    value = LOOSE.get(name, LIMIT["value"])
    return not row["value"] <= value or not (row["gradient"] or 0.0) <= max(value, LIMIT["gradient"])


def measure(project, batches):
    if upstream_sources.folder(project) is None:
        sys.exit(upstream_sources.missing(project))
    command = [sys.executable, __file__, "--project", project, "--batches", str(batches)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=500)
    parser.add_argument("--project", choices=sorted(PROJECTS), help="measure one project in this process, as JSON")
    parser.add_argument("--write", action="store_true", help=f"replace the tables of {PAGE.name}")
    given = parser.parse_args()
    if given.project:
        print(json.dumps(PROJECTS[given.project](given.batches)))
        return 0
    found = {project: measure(project, given.batches) for project in there()}
    text = page(found)
    print(text)
    if given.write:  # tables of projects that are not here stay
        for section in text.split("### ")[1:]:
            old = PAGE.read_text()
            at = old.index("### " + section.split()[0])
            after = old.find("\n### ", at)
            PAGE.write_text(old[:at] + "### " + section.rstrip() + "\n" + (old[after:] if after >= 0 else ""))
    return int(any(far(name, row) for table in found.values() for name, row in table.items()))


if __name__ == "__main__":
    sys.exit(main())
