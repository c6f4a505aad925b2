#!/bin/sh
# One would guess: the times of trials in a study's SQLite file are what trial.datetime_start says, local time without a zone, which is so
# up to Optuna 4; or, since the column is of the same type and name, that a study keeps its meaning when Optuna is updated.
# In fact Optuna 5 stores UTC and converts to local time when it is asked, for every row, also those that Optuna 4 wrote in local time:
# in Tokyo a trial of 4.6.0, read by 5.0.0 from the same file, began nine hours later than it did, which is in the future. Readers of the
# file must know which release wrote the row, and the file does not say.
# Version: optuna 4.6.0 and 5.0.0. Source: optuna/storages/_rdb of both.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >make.py <<'END'
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(study_name="s", storage="sqlite:///s.db")
study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
END
cat >read.py <<'END'
import datetime, sqlite3, sys
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
stored = sqlite3.connect("s.db").execute("SELECT datetime_start FROM trials").fetchone()[0]
said = optuna.load_study(study_name="s", storage="sqlite:///s.db").trials[0].datetime_start
late = (said - datetime.datetime.now()).total_seconds() / 3600
print("optuna", optuna.__version__, "stored", stored, "said", said, "which is", round(late), "hours from now")
sys.exit(round(late) != int(sys.argv[1]))
END
export TZ=Asia/Tokyo
for version in 4.6.0 5.0.0; do
    python3 -m venv "$version"
    "$version/bin/pip" install -q --disable-pip-version-check "optuna==$version"
done
4.6.0/bin/python make.py && 4.6.0/bin/python read.py 0
4.6.0/bin/optuna storage upgrade --storage sqlite:///s.db 2>/dev/null || :
5.0.0/bin/optuna storage upgrade --storage sqlite:///s.db 2>/dev/null || :
5.0.0/bin/python read.py 9
