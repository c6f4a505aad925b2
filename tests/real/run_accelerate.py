# pip: accelerate==1.15.0 torch==2.15.0
# run: accelerate launch --cpu --num_processes 2 --num_machines 1 --mixed_precision no --dynamo_backend no "$SCRIPT"
"""accelerate launch with two processes; only the main process prints."""
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
from tiny import right, rows

accelerator = Accelerator(cpu=True)
torch.manual_seed(1)
data = [(torch.tensor(x), y) for x, y in rows()]
net = torch.nn.Linear(2, 2)
net, optimizer, loader = accelerator.prepare(net, torch.optim.Adam(net.parameters(), 0.05), DataLoader(data, 16))
for epoch in range(3):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    mean = accelerator.gather(loss.detach().reshape(1)).mean().item()
    accelerator.print(f"epoch {epoch}: loss {mean:.4f}")
if accelerator.is_main_process:
    right(("loss", "-", f"{mean:.4f}"))
