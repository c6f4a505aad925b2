-- Made after a bulk load, because loading into indexes costs several times as much. seq comes last in each
-- by itself, so ties keep file order. A specialist is one of a few, and its trials found by reading along.
CREATE INDEX IF NOT EXISTS trials_by_id ON trials(exp_id);
CREATE INDEX IF NOT EXISTS trials_by_parent ON trials(parent_exp) WHERE parent_exp <> '';
CREATE INDEX IF NOT EXISTS trials_by_timestamp ON trials(timestamp);
CREATE INDEX IF NOT EXISTS trials_by_score ON trials(score) WHERE score IS NOT NULL;
CREATE INDEX IF NOT EXISTS kept_by_score ON trials(score) WHERE status IN ('keep', 'baseline');
CREATE INDEX IF NOT EXISTS kept_by_score_down ON trials(score DESC) WHERE status IN ('keep', 'baseline');
CREATE INDEX IF NOT EXISTS night_rows_by_key ON night_rows(key);
CREATE INDEX IF NOT EXISTS extras_by_number ON extras(name, number, seq);
-- Not NOT IN: of a list as long as that SQLite makes a table anew for each row that it puts into the index.
CREATE INDEX IF NOT EXISTS failed_by_label ON trials(status)
    WHERE status <> 'keep' AND status <> 'discard' AND status <> 'baseline' AND status <> 'harness_abort';
