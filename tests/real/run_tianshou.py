# pip: tianshou==2.0.1 torch==2.15.0 tensorboard==2.21.0 numpy==2.4.6 gymnasium==1.0.0
# keep: log/events*
"""tianshou: bars of the training, whose last line has the last episode, and a line for the test of each epoch."""
import gymnasium as gym
import torch
from tianshou.algorithm import DQN
from tianshou.algorithm.modelfree.dqn import DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils import TensorboardLogger
from tianshou.utils.net.common import Net
from torch.utils.tensorboard import SummaryWriter

from tiny import right

torch.manual_seed(0)
env = gym.make("CartPole-v1")
train, test = (DummyVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(2)]) for _ in range(2))
net = Net(state_shape=env.observation_space.shape, action_shape=env.action_space.n, hidden_sizes=[16])
policy = DiscreteQLearningPolicy(model=net, action_space=env.action_space, eps_training=0.1, eps_inference=0.0)
algorithm = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.9, n_step_return_horizon=3, target_update_freq=100)
means = []
result = algorithm.run_training(OffPolicyTrainerParams(
    training_collector=Collector(algorithm, train, VectorReplayBuffer(2000, 2), exploration_noise=True),
    test_collector=Collector(algorithm, test), compute_score_fn=lambda stats: means.append(stats.returns_stat.mean) or means[-1],
    max_epochs=2, epoch_num_steps=100, collection_step_num_env_steps=10, test_step_num_episodes=4, batch_size=32,
    update_step_num_gradient_steps_per_sample=0.1, logger=TensorboardLogger(SummaryWriter("log"))))
print(result)
right(("test_reward", "-", f"{means[-1]:.6f}"), ("best_reward", "-", result.best_reward), ("best_reward_std", "-", result.best_reward_std))
