-- lineage.db, version 9: where each trial is in the chain of its ancestors, so that both ends and the length of a chain of any
-- depth are found by a few rows of this narrow table. Rows of version 8 are read again to fill it.
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

-- Rows that run a trial again, as their notes say (struct lineage_replicate in include/lineage/notes.h), and rows that are the mean
-- of several runs themselves (lineage_score_runs in include/lineage/evidence.h).
CREATE TABLE again_rows (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    trial TEXT                    -- id of the trial that runs again, as written, without exp_; NULL: a mean of several runs
);

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
