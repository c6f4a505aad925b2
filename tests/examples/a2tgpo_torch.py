"""A tiny policy trained in PyTorch with A2TGPO, its run recorded as a trial: python3 a2tgpo_torch.py STORE [ALPHA]

Each question hides two tokens. In every turn the policy guesses one; a right guess in the first turn is information
gain, both right is the outcome.
"""
import sys

import torch
from lineage import Store
from lineage.torch import TurnLoss, a2tgpo_advantage

store = Store(sys.argv[1], create=True, direction="higher")
alpha, rows, tokens = float(sys.argv[2]) if len(sys.argv) > 2 else 0.3, 64, 8
torch.manual_seed(1)
policy = torch.nn.Parameter(torch.zeros(2, tokens))  # logits of the guess in each of two turns
optimizer = torch.optim.Adam([policy], lr=0.1)
answer = torch.tensor([3, 5])
loss_fn = TurnLoss("seq-mean-token-mean", cliprange_low=0.2, cliprange_high=0.28)

with store.trial(hypothesis="gains of the first turn help", specialist="a2tgpo", params={"alpha": alpha}) as trial:
    for step in range(30):
        guess = torch.distributions.Categorical(logits=policy.detach()).sample((rows,))
        right = (guess == answer).double()
        mask = torch.tensor([1, 0, 1]).expand(rows, 3)  # a guess, the tool's answer, a guess
        rewards = torch.stack([right[:, 0], torch.zeros(rows), right.prod(1)], 1)
        credit = a2tgpo_advantage(rewards, mask, [0] * rows, alpha=alpha, gamma=1.0, clip_beta=0.3)
        log_prob = torch.log_softmax(policy, 1).gather(1, guess.T).T.double()
        log_prob = torch.stack([log_prob[:, 0], torch.zeros(rows), log_prob[:, 1]], 1)
        loss = loss_fn(log_prob, log_prob.detach(), credit.advantages, mask, credit.turn_id, credit.ig_clip_scale)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        trial.log(step, loss=float(loss), reward=float(right.prod(1).mean()), **loss_fn.metrics)
    trial.score(float(torch.softmax(policy, 1)[[0, 1], answer].prod()))
print(trial.row["exp_id"], trial.row["status"], round(trial.row["score"], 4))
