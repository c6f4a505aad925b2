-- Made after the first load, because a bulk load into indexes costs several times as much.
CREATE INDEX IF NOT EXISTS trials_by_id ON trials(exp_id, seq);
CREATE INDEX IF NOT EXISTS trials_by_parent ON trials(parent_exp, seq) WHERE parent_exp <> '';
CREATE INDEX IF NOT EXISTS trials_by_status ON trials(status, seq);
CREATE INDEX IF NOT EXISTS trials_by_specialist ON trials(specialist, seq);
CREATE INDEX IF NOT EXISTS trials_by_timestamp ON trials(timestamp, seq);
CREATE INDEX IF NOT EXISTS trials_by_score ON trials(score, seq);
CREATE INDEX IF NOT EXISTS kept_by_score ON trials(score, seq) WHERE status IN ('keep', 'baseline');
CREATE INDEX IF NOT EXISTS kept_by_score_down ON trials(score DESC, seq) WHERE status IN ('keep', 'baseline');
CREATE INDEX IF NOT EXISTS params_by_value ON params(key, value, seq);
CREATE INDEX IF NOT EXISTS extras_by_number ON extras(name, number, seq);
