-- lineage.db, version 5: what the texts of trials say: changed settings, mentioned trials, and words.
--
-- Rows are added by the first question that needs them, as those of the search index are, never by an append. So a table
-- may lag behind trials; `lineage sql` brings it up to date when a statement names it.

-- That the texts of a trial were read. A reading whose digest differs from that of the trial's texts is replaced.
CREATE TABLE readings (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    digest INTEGER NOT NULL,      -- XXH3 (64 bits) of hypothesis and notes, seeded with reader
    reader INTEGER NOT NULL,      -- identifies the version of the reader and the columns of the log
    words BLOB NOT NULL           -- ids of reading_words in the order of the texts; src/store/ideas/reading_cache.c
);
CREATE TABLE reading_words (
    id INTEGER PRIMARY KEY,       -- from 1, without gaps
    word TEXT NOT NULL
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

CREATE VIEW changes AS
    SELECT c.seq, t.exp_id, c.source, c.name, c.old, c.new, c.old_value, c.new_value
    FROM change_rows c JOIN trials t ON t.seq = c.seq;

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
