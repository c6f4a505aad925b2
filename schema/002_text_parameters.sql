-- lineage.db, version 2: parameters that are text (optimizer=adam) beside those that are numbers.
--
-- Both are in one table, each value with its type. SQLite sorts numbers before texts, so one index answers a
-- range, a text and a sweep. The rows of version 1 lack the texts of their notes, so everything is read again.
DROP VIEW params;
DROP TABLE param_rows;
DROP TABLE param_values;
DROP TABLE param_values_before;

CREATE TABLE param_rows (
    key TEXT NOT NULL,
    value NOT NULL,               -- REAL or TEXT
    seq INTEGER NOT NULL REFERENCES trials(seq),
    PRIMARY KEY (key, value, seq)
) WITHOUT ROWID;

-- Numbers only, because `value > 0.3` is true for every text, and a mean over texts is nonsense.
CREATE VIEW params AS
    SELECT p.seq, t.exp_id, p.key, p.value FROM param_rows p JOIN trials t ON t.seq = p.seq
    WHERE typeof(p.value) = 'real';

CREATE VIEW text_params AS
    SELECT p.seq, t.exp_id, p.key, p.value FROM param_rows p JOIN trials t ON t.seq = p.seq
    WHERE typeof(p.value) = 'text';

CREATE TABLE param_values (       -- which values of a parameter were tried, and how those trials ended
    key TEXT NOT NULL,
    value NOT NULL,               -- REAL or TEXT
    status TEXT NOT NULL,
    n INTEGER NOT NULL,
    low REAL,                     -- smallest finite score
    high REAL,                    -- largest finite score
    PRIMARY KEY (key, value, status)
) WITHOUT ROWID;
CREATE TABLE param_values_before (key TEXT, value, status TEXT, n INTEGER, low REAL, high REAL);

DELETE FROM turn_stats;
DELETE FROM step_metrics;
DELETE FROM extras;
DELETE FROM findings;
DELETE FROM label_counts;
DELETE FROM label_counts_before;
DELETE FROM calibration;
DELETE FROM calibration_before;
DELETE FROM trials;
DELETE FROM meta;
