# pip: torch==2.15.0
# run: torchrun --nproc-per-node 2 --tee 3 "$SCRIPT"
"""torchrun --tee puts the rank before each line: [default0]:epoch 2 val_loss 0.31; both ranks print the mean of all."""
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from tiny import right, rows

dist.init_process_group("gloo")
torch.manual_seed(1)
rank = dist.get_rank()
data = rows()[rank::2]
x, y = torch.tensor([r[0] for r in data]), torch.tensor([r[1] for r in data])
net = DistributedDataParallel(torch.nn.Linear(2, 2))
optimizer = torch.optim.Adam(net.parameters(), 0.05)
for epoch in range(3):
    loss = torch.nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    print(f"epoch {epoch} val_loss {mean.item() / 2:.4f}", flush=True)
if rank == 0:
    right(("val_loss", "-", f"{mean.item() / 2:.4f}"))
dist.destroy_process_group()
