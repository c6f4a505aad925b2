-- lineage.db, version 10: trials that were compared with a trial that is void now, or is not void any more. In `trials` such a trial
-- has the label, difference and baseline_exp that it would have in a log without the void rows; its own are here. Rows of version
-- 9 are read again for it.
CREATE TABLE judged (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    status TEXT NOT NULL,         -- as in its own row
    delta_vs_best REAL,
    baseline_exp TEXT NOT NULL,
    special INTEGER NOT NULL
);
-- As in version 9, and rows that declare a seed: those with the same `setting` are runs of one setting.
DROP TABLE again_rows;
CREATE TABLE again_rows (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    trial TEXT,                   -- id of the trial that runs again, as written, without exp_; NULL: a mean of several runs;
                                  -- '': neither
    setting INTEGER               -- digest of all that the row says of its setting without the seed; NULL if it declares none
);
-- As in version 6, and with the difference of the void trial's own row; in `trials` it has none.
DROP TABLE voided;
CREATE TABLE voided (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    void_seq INTEGER NOT NULL,    -- the row that voids it
    status TEXT NOT NULL,         -- label and score as in its own row
    score REAL,
    special INTEGER NOT NULL,
    delta_vs_best REAL
);

-- What the judgement covers; no row before the first void.
CREATE TABLE judged_with (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    first INTEGER NOT NULL,       -- seq of the first trial that was ever void: no label before it changes
    last INTEGER NOT NULL,        -- seq of the last row that voids a trial or takes it back: rows behind it know of it
    settings INTEGER NOT NULL     -- digest of the settings that decide what is kept
);

DELETE FROM ancestors;
DELETE FROM metric_rows;
DELETE FROM voided;
DELETE FROM night_rows;
DELETE FROM param_rows;
DELETE FROM param_values;
DELETE FROM param_values_before;
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
