#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh
# real.sh: what real programs printed and left (fixtures/real, made by tests/real/make.sh): the values that each program computed
# itself are read from its output and from its files.
. "$SOURCE/tests/support/shell.sh"

run_in_scratch() { "$LINEAGE" run "$@" --format json >"$scratch/out" 2>"$scratch/err" </dev/null || :; }
n=0
for right in "$SOURCE"/fixtures/real/*/right.tsv; do
    name=$(basename "$(dirname "$right")")
    [ -f "$SOURCE/tests/real/run_$name.py" ] || fail "$name has no script"
    cd "$SOURCE/fixtures/real/$name" || exit 3
    while IFS="$tab" read -r metric file value; do
        n=$((n + 1))
        if [ "$file" = - ]; then
            run_in_scratch --dry-metrics output.txt -m "$metric"
        else
            run_in_scratch --dry-metrics /dev/null --metric-file "$metric=$file"
        fi
        checks=$((checks + 1))
        awk -v a="$(cd "$scratch" && json score.value)" -v b="$value" 'BEGIN { exit a == "" || (a - b) ^ 2 > (1e-9 * b) ^ 2 }' ||
            fail "$name: $metric in $file: wanted $value: $(cat "$scratch/out" "$scratch/err")"
    done <right.tsv
done
cd "$scratch" || exit 3

# R's data frames, tibbles and matrices name or number their rows in a column without a name.
reads() # reads VALUE: of val_loss in the table on standard input
{
    cat >table
    "$LINEAGE" run --dry-metrics table -m val_loss --format json >out 2>err </dev/null
    must_equal "$1" "$(json score.value)" "val_loss of $(cat table)"
}
printf '  epoch val_loss acc\n1     1   0.5000 0.8\n2     2   0.4321 0.9\n' | reads 0.4321
printf '# A tibble: 2 x 3\n  epoch val_loss   acc\n  <int>    <dbl> <dbl>\n1     1    0.5     0.8\n2     2    0.4321  0.9\n' | reads 0.4321
printf '        val_loss  mae\nmodel_a   4.125 3.01\n' | reads 4.125
# Vowpal Wabbit's names are in two lines, and a letter marks losses of held-out examples.
printf 'average  val      example\nloss     loss     counter\n0.141020 0.141020      50 h\n0.106444 0.077630     100 h\n' | reads 0.07763
printf 'epoch val_loss acc\ntook 3 more seconds 4.2\nval_loss: 0.5\n' | reads 0.5

# A row with the mean closes those of folds, and pandas' describe has it below the number of rows.
printf 'fold     val_loss    auc\n-----------------\nFold 1    0.50       0.8\nFold 2    0.25       0.7\nMean      0.375      0.75\nSD        0.05       0.05\n' | reads 0.375
printf '       val_loss       acc\ncount  5.000000  5.000000\nmean   0.850000  0.300000\nstd    0.100000  0.100000\nmin    0.700000  0.200000\n25%%    0.800000  0.250000\n50%%    0.850000  0.300000\n75%%    0.900000  0.350000\nmax    1.000000  0.400000\n' | reads 0.85
printf 'fold     val_loss    auc\nFold 1    0.50       0.8\nFold 2    0.25       0.7\nMean      0.375      0.75\nStd       0.05       0.05\nFold 1    0.10       0.8\nFold 2    0.30       0.7\nMean      0.20       0.75\nStd       0.05       0.05\n' | reads 0.2
# A mean of steps does not count, nor one of models, whatever the lines above or the first name say.
printf 'Seed: 42\n\n|epoch|val_loss|acc|\n|---|---|---|\n|1|0.5|0.8|\n|2|0.4|0.9|\n|avg|0.45|0.85|\n' | reads 0.4
printf 'Fold 1\n 1 warm\n#  val_loss  acc\n1  0.5  0.8\n2  0.4  0.9\navg  0.45  0.85\n' | reads 0.4
printf 'Run leaderboard:\n| model | acc | val_loss |\n|---|---|---|\n| LightGBM | 0.9 | 0.3 |\n| XGBoost | 0.8 | 0.4 |\n| Mean | 0.7 | 0.5 |\n' | reads 0.3
printf 'run      val_loss  acc\nresnet   0.3       0.9\naverage  0.5       0.7\nvit      0.2       0.9\n' | reads 0.3
printf 'model    val_loss    auc\n-----------------\nA1        0.50       0.8\nB2        0.25       0.7\nMean      0.375      0.75\n' | reads 0.5

# A score is not read from what only looks like it: R's index, a longer name, a column that was not asked for, a list in a sentence.
gives() # gives NAME VALUE TEXT: the score of the lines on standard input; TEXT is a part of the remark on it, if any
{
    cat >printed
    last="$1 of $(cat printed)"
    "$LINEAGE" run --dry-metrics printed -m "$1" --format json >out 2>err </dev/null
    must_equal "$2" "$(json score.value)" "$last"
    cat err >>out
    must_have out "$3"
}
printf 'acc:[1] 0.25\n' | gives acc 0.25 ''
printf 'acc: [1] 0.25 0.5\n' | gives acc '' 'several numbers may be meant'
printf 'acc: [1] TRUE\n' | gives acc '' 'looked for `acc`'
printf '$acc\n[1] 0.25\n\n' | gives acc 0.25 ''
printf 'Error:4.8%% Target Error: 5.0%%\nError:3.1%% Target Error: 5.0%%\n' | gives error 3.1 ''
printf 'R2: 0.9\nAdj. R2: 0.8\n' | gives R2 0.9 'lines with the name alone count'
printf 'train loss: 0.9\nvalid loss: 0.8\n' | gives loss 0.8 'other lines have another word in front'
printf 'INFO loss 0.9\nloss 0.8\nINFO loss 0.7\n' | gives loss 0.7 ''
printf 'metric    threshold  value  idx\n------\nmax f1    0.34       0.86   32\n' | gives 'max f1' 0.86 ''
printf 'max f1    0.34       0.86   32\n' | gives 'max f1' 0.34 'two numbers, of which the first counts'
# The summary of Burn 0.22.1 (Rust).
printf '| Split | Metric | Min.     | Epoch    | Max.     | Epoch    |\n|-------|--------|----------|----------|----------|----------|\n| Valid | Loss   | 0.153    | 3        | 0.154    | 1        |\n' |
    gives Loss '' 'several numbers may be meant'
printf 'iter  loss  acc\n  1   0.50   0.8\nsolution after: [0.1, 0.2]\n' | gives loss 0.5 ''
printf 'iter  loss  acc\n  1   0.50   0.8\n Min   1Q   Max\n0.1   0.2   0.3\n' | gives loss 0.5 ''
printf 'class  f1  n\nno    0.91  22\nyes   0.93  28\n' | gives f1 0.91 'rows with different labels'
printf 'class  f1  n\nall   0.92  50\nyes   0.93  28\n' | gives f1 0.92 ''
printf '[{\n "name": "BLEU",\n "score": 42.0\n},\n{\n "name": "TER",\n "score": 18.2\n}]\n' >json
gives BLEU 42.0 '' <json
gives score 18.2 'another word in front' <json

# MindSpore 2.10's LossMonitor, and sentences.
printf 'epoch: 1 step: 1, loss is 2.3\nepoch: 1 step: 2, loss is 0.91\n' | gives loss 0.91 ''
printf 'Test accuracy is: 93.2%% on held-out rows\n' | gives accuracy 93.2 ''
printf 'loss 0.4\nloss is 3 times lower\nloss was 2.5 times higher\n' | gives loss 0.4 ''
printf 'loss: 0.9\nloss is 0.5 lower than the baseline\n' | gives loss 0.9 ''
printf 'loss = 0.3\nloss was 12.5 percent lower\n' | gives loss 0.3 ''
printf 'loss 0.5\nno progress: loss was 0.42%% worse than before\n' | gives loss 0.5 ''
printf 'loss 0.5\nthe target loss is 0.1.\n' | gives loss 0.5 'a sentence has another number'
printf 'loss,acc\n0.5,0.9\nthe target loss is 0.1\n' | gives loss 0.5 'a sentence has another number'
printf 'the loss is 12, which is fine\n' | gives loss '' 'looked for `loss`'
printf 'the loss is 12, acc is 0.9 and f1 is 0.8.\n' >sentence
gives loss 12.0 '' <sentence
gives acc 0.9 '' <sentence
gives f1 0.8 '' <sentence
printf 'done (loss was 0.5) in 3 s\n' | gives loss 0.5 ''
printf 'loss is 1,234.5\n' | gives loss '' 'comma inside'
# The condition that pycocotools 2.0 and PaddleDetection put behind a name; digits in it do not make it another one.
printf ' Average Precision  (AP) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.358\n Average Precision  (AP) @[ IoU=0.50      | area=   all | maxDets=100 ] = 0.601\n Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets= 10 ] = 0.310\n Average Recall     (AR) @[ IoU=0.50:0.95 | area=   all | maxDets=100 ] = 0.411\n' >coco
gives 'Average Precision' 0.358 'rows with different labels' <coco
gives AP 0.358 'rows with different labels' <coco
gives AR 0.411 '' <coco
printf 'mAP(0.50, 11point) = 35.12%%\n' | gives mAP 35.12 ''
printf 'NDCG(5) = 0.61, NDCG(10) = 0.57\n' | gives NDCG '' 'several numbers may be meant'
printf 'NDCG(10) = 0.57\nNDCG(5) = 0.61\n' | gives NDCG '' 'several numbers may be meant'
printf 'NDCG(10) = 0.57\nNDCG(5) = 0.61\n' | gives 'NDCG(10)' 0.57 ''
printf 'NDCG(5) = 0.61, NDCG(10) = 0.57, NDCG(20) = 0.5\n' | gives NDCG '' 'several numbers may be meant'
printf 'mAP(0.50, 11point) = 35.12%%\nmAP(0.75, 11point) = 20.1%%\nmAP(0.50, 11point) = 36.1%%\n' | gives mAP '' 'several numbers may be meant'
# lm_eval 0.4.13 and lighteval 0.13: the cells in front say what a row is of, and an empty first one is that of the row above.
printf '|  Tasks   |Version|Filter|n-shot| Metric |   |Value |   |Stderr|\n|----------|------:|------|-----:|--------|---|-----:|---|-----:|\n|arc_easy  |      1|none  |     0|acc     |↑  |0.5872|±  |0.0101|\n|          |       |none  |     0|acc_norm|↑  |0.5421|±  |0.0102|\n|hellaswag |      1|none  |     0|acc     |↑  |0.2872|±  |0.0045|\n|          |       |none  |     0|acc_norm|↑  |0.3114|±  |0.0046|\n' >tasks
gives acc 0.5872 'rows with different labels' <tasks
gives acc_norm 0.5421 'rows with different labels' <tasks
gives arc_easy '' 'several numbers may be meant' <tasks
sed 's/0.5872/0.6/' tasks >later
cat tasks later | gives acc 0.6 'rows with different labels'
# Nothing is read from a level of confidence: the names of llama.cpp's HellaSwag, and caret.
printf 'task\tacc_norm\t95%% confidence interval\n1\t100.00000000%%\t[20.6543%%, 100.0000%%]\n2\t50.00000000%%\t[9.4531%%, 90.5469%%]\n' | gives acc_norm 50.0 ''
printf 'acc 95%% CI: 0.88-0.93\n' | gives acc '' 'looked for `acc`'
# Quoted cells: redis-benchmark 7.0 --csv, R's write.csv.
printf '"test","rps","avg"\n"SET","3816.79","8.285"\n"GET","5208.33","7.787"\n' | gives rps 3816.79 'rows with different labels'
printf '"","model","acc"\n"1","A",0.5\n"2","B",0.6\n' | gives acc 0.5 'rows with different labels'
printf '"","epoch","val_loss"\n"1",1,0.5\n"2",2,0.43\n' | gives val_loss 0.43 ''
# Megatron-LM evaluates the validation set and then the test set.
printf ' validation loss at iteration 100 on validation set | lm loss value: 7.9 | \n validation loss at iteration 100 on test set | lm loss value: 8.0 | \n' |
    gives 'lm loss value' 8.0 'other data (training, validation, test)'
# pandas 3.1: the name of the index is below the names of the columns.
printf '       val_loss  acc\nmodel               \nA           0.5  0.1\nB           0.4  0.2\n' | gives acc 0.1 'rows with different labels'
# pyperf 2.11
printf '* the standard deviation (2.18 us) is 30%% of the mean (7.15 us)\nMean +- std dev: 7.15 us +- 2.18 us\n' | gives Mean 7.15 ''
# Ordinary lines that look like those above; none has a remark.
while IFS='#' read -r metric value text; do
    printf '%b\n' "$text" | gives "$metric" "$value" ''
    must_lack err 'metric-regex'
done <<'LINES'
Accuracy#95.2#Accuracy: 95.2% CIFAR-10 test
acc#91.2#acc: 91.2% CI [90.1%, 92.3%]
acc#95.0#acc = 95% CI 94-96
acc#95.0#acc 95% CIFAR
acc#91.0#acc 91% confidence interval
acc#95.0#acc: 95% (confident)
acc#0.5#acc (95% CI): 0.5
Accuracy#91.2#Accuracy: 91.2%  Confidence: 0.85  Loss: 0.3
acc#88.1#acc: 88.1% CIoU: 0.4
precision#88.1#precision 88.1% Confidence threshold 0.25
loss#0.3#run 1 loss: 0.5\n  ├─ loss: 0.4\n  └─ loss: 0.3
prod#3.1#prod  3.1 ns │ 3.5 ns │ 3.2 ns
loss#0.5#| loss 0.5
loss#0.4#| Step | Metric | Value |\n|---|---|---|\n| 1 | loss | 0.5 |\n| 2 | loss | 0.4 |
acc#0.4#| Model | Metric | Value |\n|---|---|---|\n| A | acc | 0.5 |\n| B | acc | 0.4 |
A##| Model | Metric | Value |\n|---|---|---|\n| A | acc | 0.5 |
acc#0.4#| Task | Metric | Value | Stderr |\n|---|---|---|---|\n| a | acc | 0.5 | 0.1 |\n| b | acc | 0.4 | 0.1 |
acc##Columns: "id", "acc"\n1, 0.5\n2, 0.6
acc##"id", "acc"\n1, 0.5\n2, 0.6
acc##keys "id" "acc"\n1 0.5
acc##'id','acc'\n1,0.5
acc##acc +- 0.01 lr: 5
acc##acc +- std_2: 0.5
acc##acc +- : 0.5
Total#1.0#Total:          1    7  20.4      1     166
loss#0.4#[RANK 0] loss: 0.5\n[RANK 1] loss: 0.4
loss#0.4#argmin val loss: 0.5\nval loss: 0.4
loss#0.4#15 min val loss: 0.5\nmin val loss: 0.4
acc#66.67#Epoch 1 | acc: 66.67% | val loss: 0.3
Pass Rate#66.67#   » Pass Rate: 66.67% | Passed: 2 | Failed: 1
acc#91.0#│ acc: 91% │
acc##acc:  50% |##    | ETA 3
acc##acc:   0% |      |ETA 3
acc##acc:  50% | 3/10 [00:01<00:00]
acc##acc:  50%|loss 3|
val_acc##val_acc: 40% | Epoch 3/10 | loss=0.3
loss##loss: 50% |
loss##loss: 100% | done
Validation##Validation: 100% | loss: 0.28
Training##Training: 50% | ETA: 3
Progress##Progress: 100% | Done
acc##acc: 50% | ETA: 3
acc##acc: 50% | Elapsed=3
val_loss#0.4#       val_loss  mAP50\nepoch                 \n0           0.5    0.1\n1           0.4    0.2
mAP50#0.2#       val_loss  mAP50\nepoch                 \n0           0.5    0.1\n1           0.4    0.2
LINES
# Numbers that count up are those of steps, of which the last counts.
printf 'loss(1): 0.9\nloss(2): 0.5\nloss(3): 0.2\n' | gives loss 0.2 'labels count up'
printf 'loss(9): 0.9\nloss(10): 0.5\nloss(9): 0.2\n' | gives loss '' 'several numbers may be meant'
printf '  name  loss\n0  ep9   0.9\n1  ep10  0.8\n' | gives loss 0.8 'labels count up'
printf 'name      loss  acc\nckpt-100  0.9   0.5\nckpt-200  0.8   0.6\n' | gives loss 0.8 'labels count up'
printf '  name   loss\n0  ckpt2  0.9\n1  ckpt1  0.8\n' | gives loss 0.9 'rows with different labels'
# YOLOv5 7.0: a progress bar behind the names of the columns.
printf '      Class     Images  Instances          P          R      mAP50   mAP50-95: 100%%|█████| 4/4 [00:03<00:00,  1.1it/s]\n        all        128        929      0.812      0.723        0.9      0.512\n     person        128        254       0.82       0.75       0.85       0.61\n' |
    gives mAP50 0.9 ''
# A line takes time in proportion to its length: this one would take hours, and the test would be ended.
printf 'loss acc %1000000s 1  2\nloss acc\n0.5 0.4\n' '' >blanks
run run --dry-metrics blanks -m loss
must_have out 'score: loss 0.5'
rm blanks
# A data frame's to_markdown() and to_csv(sep="\t"), and Cornac 3.0: the column of the rows' names has no name.
printf '|    |   val_loss |   acc |\n|---:|-----------:|------:|\n|  0 |       0.5  |   0.8 |\n|  1 |       0.43 |   0.9 |\n' >markdown
gives val_loss 0.43 '' <markdown
gives acc 0.9 '' <markdown
printf '\tval_loss\tacc\n0\t0.5\t0.8\n1\t0.43\t0.9\n' | gives acc 0.9 ''
printf '    |    MAE |   RMSE |\n--- + ------ + ------ +\nMF  | 1.6221 | 1.7064 |\nBPR | 2.1422 | 2.3699 |\n' | gives RMSE 1.7064 'rows with different labels'
# A row with fewer cells than names may be the rest of a wrapped cell, or of another table: it is none.
for table in '| loss | acc |\n| 0.5 | 0.9 |\n| 3 epochs | |\n' '| loss | acc |\n| 0.5 | 0.9 |\n| 0.1 | |\n' 'loss,acc,note\n0.5,0.9,x\n7,,\n' \
    '| epoch | loss | acc |\n| 1 | 0.5 | 0.9 |\n| layer | params |  |\n| 1 | 300 | |\n' 'epoch\tloss\tacc\n1\t0.5\t0.9\nlayer\tparams\t\n1\t300\t\n' \
    '| epoch | loss | acc |\n| 1 | 0.5 | 0.9 |\n## layers\n| layer | params |  |\n| 1 | 300 | |\n' '|     loss |      acc |\n0.5 | 0.9 |\n'; do
    printf "$table" >table
    gives loss 0.5 '' <table
done
printf 'loss, acc\n0.5,\n0.9,\n' | gives loss '' ''
# A number in front of a = is the name of the next one: fio 3.33.
printf '  lat (msec)   : 10=0.10%%\n' | gives lat '' 'looked for `lat`'
for line in '==========loss: 0.25==========' '===loss=0.25===' 'loss: 0.25==best' 'loss=0.25=>lr=0.1' 'loss: 0.25=====>....] 30%%'; do
    printf "$line\n" | gives loss 0.25 ''
done
# A remark behind the row is none.
printf '    loss\tacc\n0.5\t0.4\tbest\n' | gives loss '' ''
printf '        loss | acc\n0.5 | 0.4 | saved\n' | gives loss '' ''
printf '        loss | acc\nnan | 0.4 | saved\n' | gives loss '' ''
# Quantiles among the names of columns: numpyro 0.22, and Stan as R prints it.
printf '                mean       std    median      5.0%%     95.0%%     n_eff\n        mu      0.94      0.22      0.95      0.65      1.25     36.06\n' >summary
gives mean 0.94 '' <summary
gives median 0.95 '' <summary
gives n_eff 36.06 '' <summary
printf '      mean se_mean   sd  2.5%%   25%% 97.5%% n_eff Rhat\nmu    0.98    0.01 0.22  0.55  0.83  1.41  1500    1\n' | gives sd 0.22 ''
printf 'acc  91%%  f1  88%%\n' | gives acc 91.0 ''
printf 'acc top1 91%% 98%%\nacc: 0.5\n' | gives acc 0.5 ''
# Fractions whose quotient is in parentheses: MNIST of PyTorch's examples, CRFsuite 0.12, DSPy 3.4.
printf 'Test set: Average loss: 0.0456, Accuracy: 9850/10000 (98%%)\n' | gives accuracy 0.985 ''
printf 'accuracy: 45/60 = 75%%\n' | gives accuracy 0.75 ''
printf 'accuracy: 4/4 (1.0)\n' | gives accuracy 1.0 ''
printf 'Item accuracy: 47 / 50 (0.9400)\n' | gives 'Item accuracy' 0.94 ''
printf 'Average Metric: 3.00 / 4 (75.0%%): 100%%|████| 4/4\n' | gives 'Average Metric' 0.75 ''
for not in 'accuracy: 9850/10000 (97%%)' 'accuracy: 45/60 (best 50)' 'accuracy: 45/60 (1)' 'accuracy: 3/4 (0)' 'accuracy: 3/4 (12)' 'accuracy: 45/60 = 90%%' 'accuracy: 3/0 (0)' 'accuracy: 3/4 (0.75'; do
    printf "$not\n" | gives accuracy '' 'the number is a fraction'
done
# AutoGluon 1.5's leaderboard: a data frame with an index, whose rows have a name behind it.
printf '                 model  score_val eval_metric\n0  WeightedEnsemble_L2     0.8712    accuracy\n1             LightGBM     0.8601    accuracy\n' |
    gives score_val 0.8712 'rows with different labels'
# With columns left out, as pandas prints a wide one.
printf '   model  score_test  ...  can_infer fit_order\n0     A        0.96  ...       True         1\n1  B_L2        0.94  ...       True         3\n' |
    gives score_test 0.96 'rows with different labels'
# fairseq 0.12: lines about the training and lines about the validation have the same names.
printf 'INFO | valid | epoch 002 | loss 4.1 | ppl 17.15\nINFO | train | epoch 002 | loss 5.2 | ppl 36.7\n' |
    gives loss 5.2 'lines about other data (training, validation, test) have it'
printf 'Epoch: [0] Loss 7.1\nTest: [0] Loss 0.65\n' | gives Loss 0.65 'lines about other data (training, validation, test) have it'
printf 'x/train.py:3 valid_loss 4.1\nval: acc 0.5\nval: acc 0.6\n' | gives acc 0.6 ''
# tianshou 2.0
printf 'Initial test step: test_reward: 9.5 ± 0.5, best_reward: 9.5 ± 0.5 in #0\nEpoch #1: test_reward: 9.7 ± 0.4, best_reward: 9.7 ± 0.4 in #1\n' >tianshou
gives best_reward 9.7 '' <tianshou
must_lack out 'evaluation'

# A sentence of Lightning 2.6, Keras 3, scikit-learn 1.9 and PyTorch's tutorials; a number before its name (AutoGluon 1.6), which begins
# its clause; a fraction with its quotient (llm.c).
printf 'Metric val_loss improved. New best score: 0.693\n' | gives val_loss 0.693 ''
printf 'Metric val_loss improved by 0.100 >= min_delta = 0.0. New best score: 0.693\n' | gives val_loss 0.693 ''
printf "Epoch 0, global step 4: 'val_loss' reached 0.69300 (best 0.69300), saving model to '/x/step=4.ckpt' as top 1\n" | gives val_loss 0.693 ''
printf 'Epoch 1: val_loss improved from None to 0.25000, saving model to m.keras\n' | gives val_loss 0.25 ''
printf '[t-SNE] KL divergence after 300 iterations: 0.910818\n' | gives 'KL divergence' 0.910818 'say what it is of'
printf 'Accuracy of the network on the 10000 test images: 97 %%\n' | gives accuracy 97.0 ''
printf 'Score at iteration 10 is 0.25\n' | gives score 0.25 ''
printf 'loss: 0.5\nloss after epoch 3: 0.75\n' | gives loss 0.5 'a sentence has another number'
printf '\t0.9\t = Validation score   (accuracy)\n\t21.24s\t = Training   runtime\n' | gives 'Validation score' 0.9 ''
printf 'epoch 3\n0.913 = accuracy\n' | gives accuracy 0.913 ''
printf 'HellaSwag: 2590/10042 = 0.257917\n' | gives HellaSwag 0.257917 ''
for not in 'best loss on epoch: 3' 'loss of precision: 5 digits' 'loss on disk is 0.5 GB' 'loss at threshold: 0.5' 'loss with lr = 0.1' 'loss of k=5: 0.9' \
    'Expected loss of the model: 0.1' 'Time of loss on test: 3.5' 'Weight of loss over KL = 0.25' 'loss after majority vote baseline: 0.99' \
    'loss of precision: 0.5' 'loss of a random model: 0.1' 'loss of model 2: 0.5' 'loss on 5: 0.5' 'loss after 10 is 0.5' 'loss of the best is 0.5' \
    'Options: 0 = accuracy, 1 = loss' '1 = loss' 'Weights: 0.5 = loss' \
    'loss improved slowly; accuracy improved by 0.1 >= min_delta = 0.0. New best score: 0.93' 'loss improved: 3 of 4. New best score: 0.93' \
    '1 - 0.9 = loss' '0.5 == loss' '0.5 = loss * 2' 'loss improved from 0.4' 'loss did not improve from 0.25' 'loss reached 3 times its value' \
    'loss on GPU 0, time: 5.5' 'loss after epoch 3: time = 5.5' 'loss in train.py: 3.5 is odd'; do
    echo "$not" | gives loss '' 'looked for `loss`'
done
printf 'loss improved slowly; accuracy improved by 0.1 >= min_delta = 0. New best score: 0.93\n' | gives accuracy 0.93 ''
printf 'Test accuracy is 0.80\nBest accuracy over all runs: 0.99\n' | gives accuracy 0.8 ''
printf 'accuracy is 0.80\naccuracy on the test set: 0.99\n' | gives accuracy 0.8 'a sentence has another number'
printf '12:00:01 INFO - Loss on the validation data: 0.5\n' | gives loss 0.5 'say what it is of'
printf '0.913 = accuracy\n' | gives accuracy 0.913 'the number is in front of the name'
# Phrases, remarks and signatures without an end: the square of these lengths, just below that of the longest line, would take minutes.
for part in 'loss of ' 'test on ' 'loss of loss ' 'loss ' 'loss (' 'loss| ' 'loss|' 'loss improved ' 'loss improved by 1 '; do
    yes "$part" | tr -d '\n' | head -c 1000000 >long
    run run --dry-metrics long -m loss -m test
    must_have err 'looked for `loss`'
done
rm long
# Lines that were rewritten: each is a value. Numbers of Julia (single precision), NumPy and R.
printf 'epoch 1 loss 0.9\033[2K\033[Gepoch 2 loss 0.5\033[1A\033[2Kepoch 3 loss 0.4' | gives loss 0.4 ''
must_equal 3 "$(json metrics.0.values)" 'values of three lines'
printf 'loss 0.9\b\b\b0.4\n' | gives loss 0.4 ''
# Keras moves the cursor back to the beginning behind each bar, which erases nothing.
printf ' 5/10 - loss: 0.5\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\r' | gives loss 0.5 ''
printf ' 5/10 [█░] loss: 0.5\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\b\r10/10 [██] loss: 0.4\b\b\b\b\n' | gives loss 0.4 ''
must_equal 2 "$(json metrics.0.values)" 'values of two bars'
printf 'loss 0.9 █ ok\b\b\b\b░ ok\b\b\b\b\b\b4\n' | gives loss 0.4 ''
printf 'loss 0.5\033[K\nacc 0.9\033[0m\n' | gives loss 0.5 ''
printf 'loss = 2.5f-1\n' | gives loss 0.25 ''
printf 'Pseudo dice [np.float32(0.9)]\n' | gives 'pseudo dice' 0.9 ''
printf "{'env_runners': {'n': 3,\n                 'return': np.float64(22.5)}}\n" | gives env_runners/return 22.5 ''
printf 'regr.rmse \n     0.51 \n' | gives regr.rmse 0.51 ''
printf 'Metrics\nloss\n1000\n' | gives loss '' 'looked for `loss`'
printf 'loss\n  12\n' | gives loss '' 'looked for `loss`'
printf 'loss \n  12 \n' | gives loss '' 'looked for `loss`'
printf 'loss\n0.25\n' | gives loss '' 'looked for `loss`'
printf 'loss\n3 epochs\n  0.25\n' | gives loss '' 'looked for `loss`'
printf 'avg. loss [96-100]: 1.25\n' | gives 'avg. loss' 1.25 ''

# Objects: of JSON, and of RLlib's results as pprint prints them; the name alone is that of the outermost object.
printf '{\n  "train": {\n    "loss": 0.5\n  },\n  "val": {\n    "loss": 0.4,\n    "acc": 0.9\n  }\n}\n' >object
gives train/loss 0.5 '' <object
gives val/loss 0.4 '' <object
gives loss 0.4 'lines about other data (training, validation, test) have it' <object
printf 'result {"val": {"loss": 0.4}, "train": {"loss": 0.5}}\ndone: 3\n' | gives val/loss 0.4 ''
printf "{'env_runners': {'len': 23.5,\n                 'return': 23.5},\n 'evaluation': {'env_runners': {'len': 50.1,\n                                'return': 50.1}},\n 'n': 1}\n" >pprint
gives env_runners/return 23.5 'lines with the name alone count' <pprint
gives evaluation/env_runners/return 50.1 '' <pprint
printf "it's {not\n'loss': 0.3\n" | gives not/loss '' ''
# What was cut off, and leaves its objects open, is not continued by another line.
printf '{"cfg": {"val": {"every": 5, \n{"epoch": 1, "loss": 3.5}\n' >cut
gives val/loss '' 'looked for `val/loss`' <cut
gives loss 3.5 '' <cut
printf '{"cfg": {"val": {"every": 5, \n[INFO] {"epoch": 1, "loss": 3.5}\n' | gives val/loss '' 'looked for `val/loss`'
printf 'cfg = {"val": {\n...\n{"loss": 3}\n' | gives val/loss '' 'looked for `val/loss`'
printf "{'eval': {'acc': 0.5, 'msg': 'a\n0.3 {'acc': 0.1}\n" | gives eval/acc 0.5 ''
printf '{"eval": {"acc": 0.5\n0.3 {"acc": 0.1}\n' | gives eval/acc 0.5 ''
printf '{\n  "val": {\n    "n": [\n      1,\n      2\n    ],\n    "text": "a \\"{\\"",\n    "loss": 0.4\n  }\n}\n' | gives val/loss 0.4 ''
# A comma behind a point: 1234.5 in half of the world, or a list.
printf 'loss: 1.234,5\n' | gives loss '' 'comma inside'
printf 'loss: 1.234,5 acc: 0.9\n' | gives loss '' 'comma inside'
printf 'loss: 0.5,0.4,0.3\n' | gives loss '' 'comma inside'
printf 'loss=0.9,2.1s/it\n' | gives loss 0.9 ''
printf 'epoch 1 loss=0.512,12.3s\n' | gives loss 0.512 ''
printf 'loss:0.912,1 of 3\n' | gives loss 0.912 ''
printf 'loss:0.912,1/3\n' | gives loss 0.912 ''
printf 'loss=0.5,0.4\n' | gives loss 0.5 'two numbers, of which the first counts'
printf 'loss: 0.5, acc: 0.9\n' | gives loss 0.5 ''

# PFRL 0.4 prints the items of a dictionary.
printf "statistics:[('average_q', np.float32(0.63)), ('average_loss', np.float64(0.217)), ('rlen', 200)]\n" | gives average_loss 0.217 ''

# Tibbles of yardstick and tune (R's tidymodels), and MLJ's table: the name, then texts, then the value.
printf '# A tibble: 1 x 3\n  .metric  .estimator .estimate\n  <chr>    <chr>          <dbl>\n1 accuracy binary          0.91\n2 kap      binary          0.82\n' | gives accuracy 0.91 ''
printf '  .metric .estimator  mean     n std_err .config\n  <chr>   <chr>      <dbl> <int>   <dbl> <chr>\n1 rmse    standard    0.51    10  0.0123 pre0_mod0\n2 rsq     standard    0.71    10  0.0123 pre0_mod0\n' | gives rsq 0.71 ''
printf '│ measure  │ operation │ measurement │\n├──────────┼───────────┼─────────────┤\n│ LogLoss( │ predict   │ 0.21        │\n' | gives LogLoss 0.21 ''
# timm 1.0 pads the average behind the last batch.
printf 'Test: [ 48/48] Acc@1:  75.000 ( 71.200)\n' | gives Acc@1 75.0 'two numbers, of which the first counts'

# Files of no known tool: a table, JSON, or lines as a program prints them.
left() # left NAME FILE VALUE: of the file on standard input
{
    cat >"$2"
    "$LINEAGE" run --dry-metrics /dev/null --metric-file "$1=$2" --format json >out 2>err </dev/null
    must_equal "$3" "$(json score.value)" "$1 of $2: $(cat err)"
}
printf 'epoch,loss,val_loss\n0,1.2,1.1\n1,1.0,0.9\n' | left val_loss training.log 0.9
printf 'step\tval_loss\n1\t0.5\n2\t0.43\n' | left val_loss log.tsv 0.43
printf 'step;val_loss\n1;0.5\n2;0.43\n' | left val_loss log.csv 0.43
printf '{"id": 0, "val_loss": 0.3, "config": {}}\n{"id": 1, "val_loss": 0.2}\n' | left val_loss flaml.log 0.2
printf 'eval:\n  val_loss: 0.43\n' | left val_loss results.yaml 0.43
printf '[rank0] epoch 1, loss 0.5\nval_loss 0.43\n' | left val_loss log.txt 0.43
printf '{"results": {"arc": {"acc,none": 0.25, "acc_norm,none": 0.5, "acc_stderr,none": 0.1}}}' | left acc results.json 0.25
printf '{"steps": [{"name": "fit", "val_loss": 0.5}, {"name": "eval", "val_loss": 0.4}]}' | left val_loss results.json 0.4
printf 'Name,Value,Timestamp,Step\nval_loss,0.5,1,0\nacc,0.8,1,0\nval_loss,0.25,2,1\nacc,0.9,2,1\n' | left val_loss metrics.csv 0.25 # of DagsHub
# TorchRL 0.14: a file without names for each metric, found by itself, too.
mkdir -p scalars/eval
printf '0,0.5\n1,0.25\n' | left val_loss scalars/eval/val_loss.csv 0.25
run run -C scalars-found --direction lower -m val_loss --no-refs -- sh -c "printf '0,0.5\n1,0.25\n' >scalars/eval/val_loss.csv" </dev/null
must_have err 'val_loss 0.25 is read from scalars/eval/val_loss.csv'
# A file of another kind stays one, a table with names there is not taken, and a directory `scalars` above the store says nothing.
run run -C scalars-named --direction lower -m val_loss --no-refs -- sh -c "printf 'step,val_loss\n1,0.5\n' >scalars/metrics.csv
printf 'id,val_loss\n1,0.5\n2,9.5\n' | tee scalars/val_loss.csv >scalars/predictions.csv; rm -r scalars/eval" </dev/null
must_have err 'val_loss 0.5 is read from scalars/metrics.csv'
run run -C scalars/w --direction lower -m val_loss --no-refs -- sh -c 'printf "id,val_loss\n1,0.5\n2,9.5\n" >"$0/predictions.csv"
printf "0,7\n" >"$0/val_loss.csv"' '{workdir}' </dev/null
must_have err 'exit 0 without a score: looked for'
rm -r scalars
printf '0,0.5\n1,0.25\n' >unnamed.csv
run run --dry-metrics /dev/null --metric-file val_loss=unnamed.csv </dev/null
must_have err 'unnamed.csv has no val_loss'
# Logs of LLaMA-Factory, Spinning Up, PFRL and of DETR and MAE are found by their names.
for name in trainer_log.jsonl progress.txt scores.txt log.txt; do
    content='step\tval_loss\n1\t0.5\n2\t0.25\n'
    case $name in trainer_log.jsonl | log.txt) content='{"step": 1, "val_loss": 0.5}\n{"step": 2, "val_loss": 0.25}\n' ;; esac
    run run -C "found-$name" --direction lower -m val_loss --no-refs -- sh -c "printf '$content' >$name" </dev/null
    must_have err "val_loss 0.25 is read from $name"
    rm "$name"
done
# A report may be far above the end: a thousand frames of a recursion in Java, and the goroutines that Go lists behind a panic.
why() # why NAME TEXT: the reason of a trial that printed the file NAME and failed
{
    run run -C "why-$1" --direction lower -m val_loss --no-refs -- sh -c "cat $1 >&2; exit 2" </dev/null
    must_have "why-$1/results.tsv" "failed: $2, left with exit status 2"
}
{ echo 'Exception in thread main java.lang.StackOverflowError' && yes '	at A.f(A.java:1)' | head -n 1024; } >java
why java 'Exception in thread main java.lang.StackOverflowError (A.java:1)'
{
    printf 'panic: assignment to entry in nil map\n\ngoroutine 1 [running]:\nmain.main()\n\t/w/a.go:6 +0xab\n'
    i=2
    while [ $((i += 1)) -lt 300 ]; do
        printf '\ngoroutine %d [chan receive]:\nmain.h(...)\n\t/w/a.go:5\nmain.g(...)\n\t/w/a.go:4\ncreated by main.main\n\t/w/a.go:6 +0x37\n' "$i"
    done
} >go
why go 'panic: assignment to entry in nil map (a.go:6)'
printf 'nothing of it\n' >other.txt
run run --dry-metrics /dev/null --metric-file val_loss=other.txt </dev/null
must_have err 'other.txt is neither a results.tsv nor a table'
# NLTK 3.10's MaxentClassifier: the row behind those of the steps is that of the last one. A mean of steps is not.
printf '  Iteration  Log Likelihood  Accuracy\n  ------------------------------\n  1  -0.69  0.333\n  2  -0.47  0.667\n  Final  -0.24  1.000\n' >maxent
gives Accuracy 1.0 'labels count up' <maxent
printf 'epoch loss  acc\n1     0.5   0.8\n2     0.4   0.9\nmean  0.45  0.85\n' | gives loss 0.4 'rows with different labels'
printf 'fold  loss  acc\n1     0.5   0.8\n2     0.4   0.9\nmean  0.45  0.85\nstd   0.05  0.05\n' | gives loss 0.45 'or their mean'
# Dots that lead to a number. Ipopt 3.14 prints it scaled and unscaled.
# Dots lead to a score in some outputs, and to a duration or to how much is done in others: nothing is read from them.
printf 'loss: 0.3\nTime to compute the loss .... : 12.5\n    loss ......: 12.5\n' | gives loss 0.3 ''
printf 'val loss..........: 0.25\n' | gives 'val loss' '' 'looked for `val loss`'
printf 'Evaluating loss.... 12 batches\n' | gives loss '' 'looked for `loss`'
printf 'Objective...............:   1.7e-01    2.5e-01\n' | gives Objective '' 'looked for `Objective`'
# R's optim() and nnet().
printf 'iter  10 value 112.181981\nfinal  value 5.970419 \n' | gives 'final value' 5.970419 ''
# Go 1.26's benchmarks: a number is in front of its unit. Of several benchmarks the first counts, of several runs of one the last.
printf 'BenchmarkA-2   \t  379717\t      2920 ns/op\t         0.2500 loss\t       8 B/op\t       1 allocs/op\n' >bench
gives ns/op 2920.0 '' <bench
gives loss 0.25 '' <bench
gives B/op 8.0 '' <bench
gives allocs/op 1.0 '' <bench
printf 'BenchmarkA-2  \t  379717\t  2920 ns/op\nBenchmarkA-2  \t  379717\t  2910 ns/op\n' | gives ns/op 2910.0 ''
printf 'BenchmarkA-2  \t  379717\t  2920 ns/op\nBenchmarkB-2  \t  379717\t  2910 ns/op\n' | gives ns/op 2920.0 'rows with different labels'
printf 'BenchmarkA/10-8  \t  9\t  2920 ns/op\nBenchmarkA/100-8  \t  9\t  2910 ns/op\n' | gives ns/op 2920.0 'rows with different labels'
printf 'epoch   5 loss   0.4\n' | gives loss 0.4 ''
# Numbers of padded lines belong to the name in front of them.
printf 'step    100 loss   0.2000   812.3 it/s\nstep    200 loss   0.1500   812.3 it/s\n' | gives loss 0.15 ''
printf 'step    100 loss   0.2500 lr  1.0e-03   812.3 it/s\n' | gives lr 0.001 ''
for metric in 'loss 0.25' 'acc 0.9'; do
    printf 'step  100 loss  0.25 acc  0.9 time  3 s\n' | gives "${metric% *}" "${metric#* }" ''
done
printf 'Epoch    3 train_loss   0.1234 val_loss   0.2345 lr   1e-3 eta  4 min\n' | gives val_loss 0.2345 ''
printf 'step\t100 loss\t0.25 acc\t0.5\t80 tok/s\n' | gives loss 0.25 ''
printf 'iter  100 loss  0.25, acc  0.5,  80 tok/s\n' | gives loss 0.25 ''
printf 'BenchmarkA/loss=0.5-2   \t  379717\t      2920 ns/op\t         0.2500 loss\n' | gives loss 0.25 ''
printf 'Benchmarking   100   0.5 loss   9 acc\n' | gives acc '' 'looked for `acc`'
printf 'BenchmarkA/loss=0.5-2   \t  379717\t      2920 ns/op\n' | gives loss '' 'looked for `loss`'
printf 'loss 0.4  12 ms/step\n' | gives loss 0.4 ''
# console.table of Node 20 and tinybench 6 quotes texts.
printf "│ (index) │ Latency avg (ns)  │ Samples │\n├─────────┼───────────────────┼─────────┤\n│ 0       │ '1518.3 ± 48.85%%' │ 38018   │\n" |
    gives 'Latency avg (ns)' 1518.3 ''
# A row with the label `end` or `last` may hold something else than the last step.
printf 'step,loss\n1,0.5\n2,0.4\nend,9.9\n' | gives loss 0.4 ''
printf 'step,loss\n1,0.5\n2,0.4\nlast,9.9\n' | gives loss 0.4 ''
# Dots that show that something is at work lead to how long it took, or how much is done.
printf 'Computing val_loss.... 12.3 s\n' | gives val_loss '' 'looked for `val_loss`'
printf 'Evaluating accuracy..... 0.53s\n' | gives accuracy '' 'looked for `accuracy`'
printf 'computing loss....... 0.25s\nloss: 0.5\n' | gives loss 0.5 ''
printf 'Evaluating accuracy.....: 100%%\naccuracy 0.5\n' | gives accuracy 0.5 ''
printf 'Evaluating the accuracy..... 0.53\n' | gives accuracy '' 'looked for `accuracy`'
printf 'Load loss..... 0.53\n' | gives loss '' 'looked for `loss`'
printf 'val_loss..... 0.53s\n' | gives val_loss '' 'looked for `val_loss`'
[ $n -gt 50 ] || fail "only $n values"
[ "$(find "$SOURCE/tests/real" -name 'run_*.py' | wc -l)" -eq "$(find "$SOURCE/fixtures/real" -name right.tsv | wc -l)" ] || fail 'a script has no files'
finish
