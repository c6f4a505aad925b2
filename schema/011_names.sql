-- lineage.db, version 11: whether trials declare different parameters, so that a question about several of them knows at
-- once that none is inherited. A mirror of version 10 counts as one
-- in which they do.
CREATE TABLE meta_before AS SELECT * FROM meta;
DROP TABLE meta;
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
    names INTEGER NOT NULL        -- digest of the names of the parameters of each trial that declares any, 0 if none does,
);                                -- 1 if they differ: a trial may then have one that only its parent declares
INSERT INTO meta SELECT *, 1 FROM meta_before;
DROP TABLE meta_before;
