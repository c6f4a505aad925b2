# pip: trl==1.16.0 transformers==5.24.0 torch==2.15.0 datasets
# keep: out/checkpoint-*/trainer_state.json
"""GRPOTrainer of TRL with a tiny model."""
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer
from tiny import language_model, right


def reward_length(completions, **_):
    return [float(len(c.split())) / 8 for c in completions]


torch.manual_seed(1)
path = language_model()
tokenizer = AutoTokenizer.from_pretrained(path)
trainer = GRPOTrainer(AutoModelForCausalLM.from_pretrained(path), reward_length,
                      args=GRPOConfig("out", max_steps=4, logging_steps=1, save_steps=4, per_device_train_batch_size=4, num_generations=4,
                                      max_completion_length=8, learning_rate=1e-3, report_to="none", use_cpu=True, bf16=False),
                      train_dataset=Dataset.from_list([{"prompt": f"w{i} w{i + 1} is"} for i in range(20)]), processing_class=tokenizer)
trainer.train()
last = [x for x in trainer.state.log_history if "reward" in x][-1]
state = f"out/checkpoint-{trainer.state.global_step}/trainer_state.json"
right(("reward", "-", f"{last['reward']:.4g}"), ("completions/mean_length", "-", f"{last['completions/mean_length']:.4g}"),
      ("reward", state, last["reward"]), ("rewards/reward_length/mean", state, last["rewards/reward_length/mean"]))
