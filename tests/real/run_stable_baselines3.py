# pip: stable-baselines3==2.9.2 torch==2.15.0
# keep: log/progress.csv log/evaluations.npz
"""PPO of stable-baselines3: sections in its table, progress.csv of its logger, evaluations.npz of EvalCallback."""
import gymnasium
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from tiny import right

evaluation = EvalCallback(Monitor(gymnasium.make("CartPole-v1")), log_path="log", eval_freq=256, n_eval_episodes=3, deterministic=True)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=256, seed=1, verbose=1, device="cpu")
model.set_logger(configure("log", ["stdout", "csv"]))
model.learn(1024, callback=evaluation)
last = model.logger.name_to_value
rollout = sum(e["r"] for e in model.ep_info_buffer) / len(model.ep_info_buffer)
mean = float(sum(evaluation.evaluations_results[-1]) / 3)
right(("rollout/ep_rew_mean", "-", f"{rollout:.3g}"), ("rollout/ep_rew_mean", "log/progress.csv", rollout),
      ("eval/mean_reward", "log/evaluations.npz", mean), ("mean_reward", "log/progress.csv", mean))
