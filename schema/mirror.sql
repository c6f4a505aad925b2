-- lineage.db: the SQLite mirror of results.tsv.
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

-- Named settings of a trial, from notes; ordered by value, so that a range is adjacent. Numbers and texts are in one table, each
-- value with its type: SQLite sorts numbers before texts, so one index answers a range, a text and a sweep.
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
    value NOT NULL,               -- REAL or TEXT
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
    provisional INTEGER NOT NULL, -- seq of the row of a last record without a line end, 0 if there is none
    names INTEGER NOT NULL,       -- digest of the names of the parameters of each trial that declares any, 0 if none does,
                                  -- 1 if they differ: a trial may then have one that only its parent declares
    twice INTEGER NOT NULL        -- seq of the first row whose exp_id an earlier row has, 0 if there is none
);

-- Which row records which trial of a night, so that a second row of one can be refused at the same cost for any size of the
-- store.
CREATE TABLE night_rows (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    sweep TEXT NOT NULL,
    key INTEGER NOT NULL          -- the 64 bits of the link in notes, as a signed number
);

-- Trials that a later row voids (lineage/voids.h). In `trials` such a trial has status harness_abort, no score and no difference,
-- so that no question counts it; its own are here.
CREATE TABLE voided (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    void_seq INTEGER NOT NULL,    -- the row that voids it
    status TEXT NOT NULL,         -- label and score as in its own row
    score REAL,
    special INTEGER NOT NULL,
    delta_vs_best REAL
);
-- Trials whose sums must be computed again (recount.sql); empty between two syncs.
CREATE TABLE void_changes (seq INTEGER PRIMARY KEY);

-- Trials that were compared with a trial that is void now, or is not void any more. In `trials` such a trial has the label,
-- difference and baseline_exp that it would have in a log without the void rows; its own are here.
CREATE TABLE judged (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    status TEXT NOT NULL,         -- as in its own row
    delta_vs_best REAL,
    baseline_exp TEXT NOT NULL,
    special INTEGER NOT NULL
);

-- What the judgement covers; no row before the first void.
CREATE TABLE judged_with (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    first INTEGER NOT NULL,       -- seq of the first trial that was ever void: no label before it changes
    last INTEGER NOT NULL,        -- seq of the last row that voids a trial or takes it back: rows behind it know of it
    settings INTEGER NOT NULL     -- digest of the settings that decide what is kept
);

-- Metrics of the rows beside their scores, from notes or the column `metrics`.
CREATE TABLE metric_rows (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    name TEXT NOT NULL,
    number REAL NOT NULL,
    PRIMARY KEY (seq, name)
) WITHOUT ROWID;

CREATE VIEW metrics AS
    SELECT m.seq, t.exp_id, m.name AS key, m.number AS value FROM metric_rows m JOIN trials t ON t.seq = m.seq;

-- Where each trial is in the chain of its ancestors, so that both ends and the length of a chain of any depth are found by a few
-- rows of this narrow table.
--
-- A kept trial is one with status keep or baseline. Among the kept ancestors of a trial, `jump` leads over about half of those
-- that are left, in the manner of a skip list: the ancestor at a depth d is reached by jump while its depth is at least d, and
-- by above otherwise (Myers 1983, Inf. Process. Lett. 17:241).
CREATE TABLE ancestors (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    parent INTEGER NOT NULL,      -- seq of the row that parent_exp names: the last one with that id; 0 if there is none
    kept INTEGER NOT NULL,        -- 1: the trial itself is kept
    above INTEGER NOT NULL,       -- nearest kept ancestor, 0 if there is none
    passed_over INTEGER NOT NULL, -- ancestors that are not kept, up to `above` or, without one, up to `top`
    depth INTEGER NOT NULL,       -- number of kept ancestors
    jump INTEGER NOT NULL,        -- a kept ancestor further up; the trial itself if it is kept and has no kept ancestor
    top INTEGER NOT NULL,         -- last trial on the way up, whose parent_exp is empty or names no row
    kind INTEGER NOT NULL         -- 0: described by these columns. 1: the parents lead into a cycle, and the columns from
                                  -- above to top are 0. 2: no row of the log names a parent; above, depth and jump are
                                  -- about the kept trials before this one
);

-- Rows that run a trial again, as their notes say (struct lineage_replicate in include/lineage/notes.h), rows that are the mean of
-- several runs themselves (lineage_score_runs in include/lineage/evidence.h), and rows that declare a seed: those with the same
-- `setting` are runs of one setting.
CREATE TABLE again_rows (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    trial TEXT,                   -- id of the trial that runs again, as written, without exp_; NULL: a mean of several runs;
                                  -- '': neither
    setting INTEGER               -- digest of all that the row says of its setting without the seed; NULL if it declares none
);

-- ---- what the texts and programs of trials say: changed settings and mentioned trials ----
--
-- Rows are added by the first question that needs them, as those of the search index are, never by an append. So a table
-- may lag behind trials; `lineage sql` brings it up to date when a statement names it.

-- That the texts of a trial were read and its program was compared with an ancestor's. A reading whose digest differs is replaced.
CREATE TABLE readings (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    digest INTEGER NOT NULL,      -- XXH3 (64 bits) of hypothesis, notes and what names the program, seeded with reader
    reader INTEGER NOT NULL       -- identifies the version of the reader and the columns of the log
);

-- Settings that a trial gave a new value. Declared changes are not here: they are parameters that differ from the parent's.
CREATE TABLE change_rows (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    source TEXT NOT NULL,         -- stated: by the hypothesis; measured: by the program
    place INTEGER NOT NULL,       -- order within the source, from 0
    name TEXT NOT NULL,           -- as written
    old TEXT,                     -- NULL if it is not known
    new TEXT NOT NULL,
    old_value REAL,               -- the values as numbers, if they are
    new_value REAL,
    budget INTEGER NOT NULL,      -- 1: made only to stay within a limit
    PRIMARY KEY (seq, source, place)
) WITHOUT ROWID;

-- Trials that a text mentions, as written ("588" in "exp_588"), whether the log has such a trial or not.
CREATE TABLE citation_rows (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    place INTEGER NOT NULL,       -- order in the texts, from 0
    mention TEXT NOT NULL,
    in_notes INTEGER NOT NULL,    -- 1: in the notes, 0: in the hypothesis
    PRIMARY KEY (seq, place)
) WITHOUT ROWID;

-- The mentions as edges between trials. A mention may leave out the zeros in front of an id.
CREATE VIEW citations AS
    SELECT DISTINCT c.seq, t.exp_id, o.seq AS cited_seq, o.exp_id AS cited
    FROM citation_rows c JOIN trials t ON t.seq = c.seq JOIN meta m
    JOIN trials o ON o.exp_id IN (c.mention, 'exp_' || c.mention,
                                  substr('0000000', 1, m.id_width - length(c.mention)) || c.mention,
                                  'exp_' || substr('0000000', 1, m.id_width - length(c.mention)) || c.mention)
    WHERE o.seq <> c.seq;

CREATE VIEW changes AS
    SELECT c.seq, t.exp_id, c.source, c.name, c.old, c.new, c.old_value, c.new_value
    FROM change_rows c JOIN trials t ON t.seq = c.seq;
