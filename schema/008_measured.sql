-- lineage.db, version 8: what trials changed in their programs, found by comparing files (include/lineage/measured.h).
--
-- Like the tables of version 5, these are filled by the first question that needs them. A snapshot does not change, so a
-- trial is compared once.

-- That a trial was compared with its ancestors. A row whose digest differs from that of the trial's row, of the version of
-- the readers and of what was found is made again.
CREATE TABLE measured_rows (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    digest INTEGER NOT NULL,
    against TEXT NOT NULL,         -- the ancestor whose code was compared; '' for none
    command_against TEXT NOT NULL, -- the ancestor whose command was compared
    incomplete INTEGER NOT NULL    -- 1: a limit was reached
);

-- Settings with another value.
CREATE TABLE measured_changes (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    place INTEGER NOT NULL,        -- order, from 0
    file TEXT NOT NULL,            -- '' for the command
    scope TEXT NOT NULL,           -- enclosing class and function
    name TEXT NOT NULL,
    old TEXT,                      -- NULL if the ancestor does not have the setting
    new TEXT NOT NULL,
    old_value REAL,                -- the values as numbers, if they are
    new_value REAL,
    line INTEGER NOT NULL,         -- in the trial's file
    PRIMARY KEY (seq, place)
) WITHOUT ROWID;

-- Changed lines: of each file, and of each function in it.
CREATE TABLE measured_lines (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    place INTEGER NOT NULL,
    file TEXT NOT NULL,
    heading TEXT,                  -- class and function, '' outside of them; NULL for the whole file
    added INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    kind INTEGER NOT NULL,         -- 0: counted, 1: binary, 2: large
    PRIMARY KEY (seq, place)
) WITHOUT ROWID;

DROP VIEW changes;
CREATE VIEW changes AS
    SELECT c.seq, t.exp_id, c.source, c.name, c.old, c.new, c.old_value, c.new_value
    FROM change_rows c JOIN trials t ON t.seq = c.seq
    UNION ALL
    SELECT m.seq, t.exp_id, 'measured', m.name, m.old, m.new, m.old_value, m.new_value
    FROM measured_changes m JOIN trials t ON t.seq = m.seq;
