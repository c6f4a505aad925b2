# pip: torch==2.15.0
"""The lines of nanoGPT's train.py (iter and step lines) around a tiny model."""
import time
import torch
from tiny import right, rows

torch.manual_seed(1)
data = rows()
x, y = torch.tensor([r[0] for r in data]), torch.tensor([r[1] for r in data])
net = torch.nn.Linear(2, 2)
optimizer = torch.optim.AdamW(net.parameters(), 0.05)
print(f"number of parameters: {sum(p.numel() for p in net.parameters()) / 1e6:.2f}M")
for iter_num in range(21):
    loss = torch.nn.functional.cross_entropy(net(x[:150]), y[:150])
    if iter_num % 10 == 0:
        val = torch.nn.functional.cross_entropy(net(x[150:]), y[150:])
        print(f"step {iter_num}: train loss {loss:.4f}, val loss {val:.4f}")
    start = time.time()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"iter {iter_num}: loss {loss.item():.4f}, time {(time.time() - start) * 1000:.2f}ms, mfu {-100:.2f}%")
right(("val loss", "-", f"{val:.4f}"), ("val_loss", "-", f"{val:.4f}"))
