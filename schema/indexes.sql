-- Created after a bulk load, because inserting into indexes costs several times as much. SQLite adds seq as the last
-- column of each, so ties keep the order of the log. There are few specialists, so specialist has no index.
CREATE INDEX IF NOT EXISTS trials_by_id ON trials(exp_id);
CREATE INDEX IF NOT EXISTS trials_by_parent ON trials(parent_exp) WHERE parent_exp <> '';
CREATE INDEX IF NOT EXISTS trials_by_timestamp ON trials(timestamp);
CREATE INDEX IF NOT EXISTS trials_by_score ON trials(score) WHERE score IS NOT NULL;
CREATE INDEX IF NOT EXISTS trials_by_core_metric ON trials(core_metric) WHERE core_metric IS NOT NULL;
CREATE INDEX IF NOT EXISTS trials_by_val_bpb ON trials(val_bpb) WHERE val_bpb IS NOT NULL;
-- Labels and scores in the order of the log, in a tenth of the pages of trials.
CREATE INDEX IF NOT EXISTS trials_by_seq ON trials(seq, status, score);
CREATE INDEX IF NOT EXISTS again_rows_by_trial ON again_rows(trial);
CREATE INDEX IF NOT EXISTS again_rows_by_setting ON again_rows(setting) WHERE setting IS NOT NULL;
CREATE INDEX IF NOT EXISTS kept_by_score ON trials(score) WHERE status IN ('keep', 'baseline');
CREATE INDEX IF NOT EXISTS kept_by_score_down ON trials(score DESC) WHERE status IN ('keep', 'baseline');
CREATE INDEX IF NOT EXISTS night_rows_by_key ON night_rows(key);
CREATE INDEX IF NOT EXISTS extras_by_number ON extras(name, number, seq);
CREATE INDEX IF NOT EXISTS metrics_by_number ON metric_rows(name, number, seq);
-- Four comparisons instead of NOT IN: for a list of this length SQLite builds a table for each row that it indexes.
CREATE INDEX IF NOT EXISTS failed_by_label ON trials(status)
    WHERE status <> 'keep' AND status <> 'discard' AND status <> 'baseline' AND status <> 'harness_abort';
