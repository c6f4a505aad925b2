#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh
# torchrun.sh: a night over batch sizes under a real torchrun finds the largest one that fits, and no row is void.
. "$SOURCE/tests/support/shell.sh"

echo 'import torch' >probe.py
torchrun --nproc_per_node 1 probe.py >probe 2>&1 || skip 'no torchrun that starts a program (that of Debian 12 does not with its Python)'
cat >train.py <<'END_OF_FILE'
import resource, sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
batch = int(sys.argv[1])
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20),) * 2)
rows = torch.zeros(batch, 1 << 18)  # a MiB each
loss = rows.sum() + batch ** -0.5
dist.all_reduce(loss)
if dist.get_rank() == 0:
    print("METRIC loss=%g" % (float(loss) / dist.get_world_size()), flush=True)
dist.destroy_process_group()
END_OF_FILE
cat >batch.json <<'END_OF_FILE'
{"name": "batch", "direction": "lower", "files": ["train.py"],
 "command": ["torchrun", "--standalone", "--nproc_per_node", "2", "{workdir}/train.py", "{batch}"],
 "grid": {"batch": [1024, 128, 64]}}
END_OF_FILE
OMP_NUM_THREADS=1
export OMP_NUM_THREADS
run night batch.json -C s -q
must_exit 0
must_equal 'crash memory|baseline |discard |' \
    "$("$LINEAGE" sql -C s "SELECT status || ' ' || coalesce(cause(notes), '') FROM trials ORDER BY seq" --format tsv | sed 1d | tr '\n' '|')"
must_run best -C s --format json
must_equal 128 "$(json params.batch)" 'the largest batch that fits'
must_equal '' "$("$LINEAGE" void -C s --format tsv | tail -n +2)" 'no row is void'
must_have s/results.tsv 'allocate memory'
must_run render -C s
must_have out 'memory'
finish
