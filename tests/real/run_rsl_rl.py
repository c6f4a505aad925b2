# pip: rsl-rl-lib==5.5.1 torch==2.15.0 tensordict==0.14.3 tensorboard==2.21.0 numpy==2.4.6
# keep: log/events*
"""RSL-RL: a block of names and values for each iteration."""
import statistics

import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from tiny import right


class Env(VecEnv):
    def __init__(self):
        self.num_envs, self.num_actions, self.max_episode_length, self.device, self.cfg = 8, 2, 10, "cpu", {}
        self.episode_length_buf = torch.zeros(8, dtype=torch.long)

    def get_observations(self):
        return TensorDict({"policy": torch.randn(8, 3)}, batch_size=[8])

    def step(self, actions):
        self.episode_length_buf += 1
        done = self.episode_length_buf >= 10
        self.episode_length_buf[done] = 0
        return self.get_observations(), -(actions ** 2).sum(-1) / 7, done.long(), {"time_outs": done.float()}


torch.manual_seed(0)
model = {"class_name": "MLPModel", "hidden_dims": [8], "activation": "elu", "obs_normalization": False}
algorithm = {"class_name": "PPO", "num_learning_epochs": 2, "num_mini_batches": 2, "learning_rate": 1e-3, "schedule": "adaptive",
             "desired_kl": 0.01, "gamma": 0.99, "lam": 0.95, "value_loss_coef": 1.0, "clip_param": 0.2,
             "use_clipped_value_loss": True, "entropy_coef": 0.01, "max_grad_norm": 1.0, "rnd_cfg": None, "symmetry_cfg": None}
noise = {"class_name": "GaussianDistribution", "init_std": 1.0, "std_type": "scalar"}
runner = OnPolicyRunner(Env(), {"seed": 1, "num_steps_per_env": 16, "max_iterations": 3, "save_interval": 50, "run_name": "",
                                "obs_groups": {"actor": ["policy"], "critic": ["policy"]}, "logger": "tensorboard",
                                "experiment_name": "x", "actor": {**model, "distribution_cfg": noise}, "critic": model,
                                "algorithm": algorithm}, log_dir="log", device="cpu")
runner.learn(3)
right(("Mean reward", "-", f"{statistics.mean(runner.logger.rewbuffer):.2f}"),
      ("Train/mean_reward", "log", torch.tensor(statistics.mean(runner.logger.rewbuffer)).item()))
