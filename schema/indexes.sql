-- Made after a bulk load, because loading into indexes costs several times as much. seq comes last in each
-- by itself, so ties keep file order. A specialist is one of a few, and its trials found by reading along.
CREATE INDEX IF NOT EXISTS trials_by_id ON trials(exp_id);
CREATE INDEX IF NOT EXISTS trials_by_parent ON trials(parent_exp) WHERE parent_exp <> '';
CREATE INDEX IF NOT EXISTS trials_by_timestamp ON trials(timestamp);
CREATE INDEX IF NOT EXISTS trials_by_score ON trials(score) WHERE score IS NOT NULL;
CREATE INDEX IF NOT EXISTS kept_by_score ON trials(score) WHERE status IN ('keep', 'baseline');
CREATE INDEX IF NOT EXISTS kept_by_score_down ON trials(score DESC) WHERE status IN ('keep', 'baseline');
CREATE INDEX IF NOT EXISTS extras_by_number ON extras(name, number, seq);
CREATE INDEX IF NOT EXISTS failed_by_label ON trials(status)
    WHERE status NOT IN ('keep', 'discard', 'baseline', 'harness_abort');
