-- lineage.db, version 1: the SQLite mirror of results.tsv.
--
-- It is a cache: you can delete it, and `lineage rebuild` makes it again. Query it with any SQLite client, for
-- example
--     SELECT t.exp_id, a.value AS alpha, t.score FROM trials t JOIN params a USING (seq)
--     WHERE a.key = 'alpha' AND a.value BETWEEN 0.1 AND 0.5 ORDER BY t.score;
-- but never write to it. Text is UTF-8 as in the file (a NUL byte inside a cell is stored as C0 80).
-- A number that is nan is NULL here and has a bit in trials.special; infinities are stored.

-- One row of results.tsv.
CREATE TABLE trials (
    seq INTEGER PRIMARY KEY,      -- position among the rows, from 1: file order
    line INTEGER NOT NULL,        -- first physical line of the record, from 1
    offset INTEGER NOT NULL,      -- position of its first byte in the file
    length INTEGER NOT NULL,      -- number of its bytes, including the line end
    digest INTEGER NOT NULL,      -- XXH3 (64 bits) of those bytes
    exp_id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    specialist TEXT NOT NULL,
    parent_exp TEXT NOT NULL,
    baseline_exp TEXT NOT NULL,
    domain TEXT NOT NULL,
    hypothesis TEXT NOT NULL,
    expected_delta TEXT NOT NULL,
    status TEXT NOT NULL,
    core_metric REAL,
    val_bpb REAL,
    delta_vs_best REAL,
    train_s REAL,
    total_s REAL,
    job_name TEXT NOT NULL,
    snapshot_path TEXT NOT NULL,
    notes TEXT NOT NULL,
    score REAL,                   -- the score column, without placeholders of crashes
    ig_clip_scale_mean REAL,
    ig_clip_scale_std REAL,
    expected REAL,                -- leading signed number of expected_delta
    special INTEGER NOT NULL      -- bits for numbers that SQLite cannot store. nan: 1 core_metric, 2 val_bpb,
);                                -- 4 delta_vs_best, 8 train_s, 16 total_s, 32 score; -0.0: the same times 256

-- Named numeric settings of a trial, from notes; ordered by value, so that a range is adjacent.
CREATE TABLE param_rows (
    key TEXT NOT NULL,
    value REAL NOT NULL,
    seq INTEGER NOT NULL REFERENCES trials(seq),
    PRIMARY KEY (key, value, seq)
) WITHOUT ROWID;

CREATE VIEW params AS
    SELECT p.seq, t.exp_id, p.key, p.value FROM param_rows p JOIN trials t ON t.seq = p.seq;

-- Information gain per turn index, from notes.
CREATE TABLE turn_stats (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    turn INTEGER NOT NULL,        -- 0-based
    mean REAL NOT NULL,
    std REAL NOT NULL,
    n INTEGER NOT NULL,           -- values behind the mean, 0 if not given
    PRIMARY KEY (seq, turn)
) WITHOUT ROWID;

-- Per-step metrics, from telemetry/<exp_id>.json.
CREATE TABLE step_metrics (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    step INTEGER NOT NULL,
    key TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (seq, step, key)
) WITHOUT ROWID;

-- Cells of columns outside the 17.
CREATE TABLE extras (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,          -- as written
    number REAL,                  -- the same as a number, if it is one
    PRIMARY KEY (seq, name)
) WITHOUT ROWID;

-- Records that could not be read, or only in part.
CREATE TABLE findings (
    offset INTEGER PRIMARY KEY,   -- position of the record
    length INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    line INTEGER NOT NULL,
    is_row INTEGER NOT NULL,      -- 1: trials has a row for it as well
    kind TEXT NOT NULL,
    exp_id TEXT NOT NULL,
    text TEXT NOT NULL
);

-- Sums that each sync updates, so that a rendered block costs the same for any size of the store.
CREATE TABLE label_counts (       -- how many trials of a specialist have a label
    specialist TEXT NOT NULL,
    status TEXT NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (specialist, status)
) WITHOUT ROWID;

CREATE TABLE param_values (       -- which values of a parameter were tried, and how those trials ended
    key TEXT NOT NULL,
    value REAL NOT NULL,
    status TEXT NOT NULL,
    n INTEGER NOT NULL,
    low REAL,                     -- smallest finite score
    high REAL,                    -- largest finite score
    PRIMARY KEY (key, value, status)
) WITHOUT ROWID;

CREATE TABLE calibration (        -- expected_delta compared with delta_vs_best, over keep and discard trials
    specialist TEXT PRIMARY KEY,
    n INTEGER NOT NULL,           -- trials with both numbers
    same_sign INTEGER NOT NULL,   -- of those, trials that changed in the expected direction
    expected_sum REAL NOT NULL,   -- added up in the order of the log, so that the last digit is always the same
    actual_sum REAL NOT NULL,
    error_sum REAL NOT NULL       -- sum of |expected - actual|
) WITHOUT ROWID;

-- Copies of the rows of the three tables above from before a last record without a line end was added. The
-- next sync reads that record again, and it may be different then.
CREATE TABLE label_counts_before (specialist TEXT, status TEXT, n INTEGER);
CREATE TABLE param_values_before (key TEXT, value REAL, status TEXT, n INTEGER, low REAL, high REAL);
CREATE TABLE calibration_before (
    specialist TEXT, n INTEGER, same_sign INTEGER, expected_sum REAL, actual_sum REAL, error_sum REAL
);

-- How far the mirror has read, and what it read.
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    metric TEXT NOT NULL,         -- score column as configured ('' = guessed)
    header BLOB NOT NULL,         -- the header record
    watermark INTEGER NOT NULL,   -- bytes mirrored
    line INTEGER NOT NULL,        -- line number after them
    rows INTEGER NOT NULL,        -- rows in them
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,        -- of the file, when last read
    mtime_ns INTEGER NOT NULL,
    last_offset INTEGER NOT NULL, -- position of the last record, row or not
    last_digest INTEGER NOT NULL,
    next_id INTEGER NOT NULL,     -- largest numeric exp_id + 1
    id_width INTEGER NOT NULL,    -- digits of the widest numeric exp_id
    provisional INTEGER NOT NULL  -- seq of the row of a last record without a line end, 0 if there is none
);
