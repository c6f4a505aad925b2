#!/bin/sh
# One would guess: a study of Optuna that is stored, stopped and continued by the same script goes on where it was: the sampler with its
# seed draws new settings.
# In fact the state of the sampler is not stored, so a seeded RandomSampler begins anew and tries the settings of the first part again,
# digit for digit; TPESampler does so, too, for the first ten trials of the study. A search over 6 trials, continued after 3, has tried
# 3 settings, and the two equal scores of each look like repeats that agree.
# Version: optuna 5.0.0. Source: optuna/samplers/_random.py, RandomSampler, whose random numbers belong to the object.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check optuna==5.0.0
cd "$dir"
cat >search.py <<'END'
import sys
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
sampler = getattr(optuna.samplers, sys.argv[1])(seed=1)
study = optuna.create_study(study_name="s", storage=f"sqlite:///{sys.argv[1]}.db", sampler=sampler, load_if_exists=True)
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
tried = [trial.params["x"] for trial in study.trials]
print("optuna", optuna.__version__, sys.argv[1], "has tried", *(f"{x:.6f}" for x in tried))
sys.exit(len(tried) == 6 and tried[:3] != tried[3:])
END
for sampler in RandomSampler TPESampler; do
    venv/bin/python -W ignore search.py $sampler
    venv/bin/python -W ignore search.py $sampler
done
