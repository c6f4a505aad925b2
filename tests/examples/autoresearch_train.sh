# autoresearch_train.sh: prints what karpathy/autoresearch's train.py prints: steps that overwrite one line, then a block of names
# and values. For tests; `sh autoresearch_train.sh VAL_BPB` ends with that score, without one it crashes.
step=0
while [ $step -lt 20 ]; do
    printf '\rstep %05d (%d.0%%) | loss: %d.%02d0000 | lrm: 1.00 | dt: 10ms | tok/sec: 1,000 | mfu: 39.8%% | epoch: 1 | remaining: 0s    ' \
        $step $((step * 5)) $((9 - step / 4)) $step
    step=$((step + 1))
done
printf '\n'
[ $# -gt 0 ] || { echo 'RuntimeError: CUDA out of memory' >&2 && exit 1; }
cat <<TEXT
---
val_bpb:          $1
training_seconds: 300.1
total_seconds:    325.9
peak_vram_mb:     45060.2
mfu_percent:      39.80
total_tokens_M:   499.6
num_steps:        953
num_params_M:     50.3
depth:            8
TEXT
