#!/bin/sh
# One would guess: each step of a vector of environments is a step of each environment, with the reward of the action.
# In fact a step after the end of an episode resets, passes over the action and returns a reward of 0 and no end: an episode of five
# steps takes six. Counted steps are too many, rewards per step too low (0.833 for 1.0 here), and a buffer that stores each step holds
# transitions from an end to the next start, 17 % of them here, that no action made. AutoresetMode.SAME_STEP is another way.
# Version: gymnasium 1.4.0. Source: gymnasium/vector/sync_vector_env.py, step, autoreset_mode NEXT_STEP.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile gymnasium==1.4.0 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
import gymnasium
import numpy as np

class Five(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 5, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.full(1, self.steps, np.float32), 1.0, self.steps == 5, False, {}

print("gymnasium", gymnasium.__version__)
seen = []
for mode in (None, gymnasium.vector.AutoresetMode.SAME_STEP):
    envs = gymnasium.vector.SyncVectorEnv([Five], **({"autoreset_mode": mode} if mode else {}))
    envs.reset(seed=0)
    steps = [envs.step(np.array([0])) for _ in range(60)]
    seen += [round(float(np.mean([step[1] for step in steps])), 3), int(sum(step[2][0] for step in steps))]
    print(mode or "default", "60 steps: mean reward", seen[-2], "episodes", seen[-1])
sys.exit(seen != [0.833, 10, 1.0, 12])
END
