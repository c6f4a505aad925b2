-- The log of a store in PostgreSQL: schema/FORMAT.md, "The log in PostgreSQL". `lineage init` runs this as the user who
-- will own it. The writers decide under the claim what a record is, which id comes next and what is kept. The server
-- enforces that bytes are only ever added, in one order, and each append once.
CREATE SCHEMA lineage;
REVOKE ALL ON SCHEMA lineage FROM PUBLIC;

CREATE TABLE lineage.version (
    version integer PRIMARY KEY,
    applied timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One head row for each store. The transaction that has it locked holds the claim, so the order of the records is the
-- order of the commits, and a reader that has read up to `seq` has missed nothing. fillfactor keeps its versions on one
-- page (HOT).
CREATE TABLE lineage.store (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
    uuid uuid NOT NULL DEFAULT gen_random_uuid(), -- the same log, wherever it is restored to
    settings text NOT NULL,                       -- as in lineage.json
    seq bigint NOT NULL DEFAULT 0,                -- number of records
    size bigint NOT NULL DEFAULT 0,               -- bytes of the records
    digest bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex') CHECK (octet_length(digest) = 32), -- of the last record
    open_end bytea NOT NULL DEFAULT '',           -- bytes without the line end of a record, from a torn file
    open_ends bigint NOT NULL DEFAULT 0           -- how often it changed
) WITH (fillfactor = 10);

-- The truth: the bytes in the order of seq are results.tsv. digest = SHA-256(digest of the previous record || bytes).
CREATE TABLE lineage.record (
    store integer NOT NULL REFERENCES lineage.store,
    seq bigint NOT NULL,      -- from 1, without gaps
    position bigint NOT NULL, -- number of bytes before it
    bytes bytea NOT NULL CHECK (octet_length(bytes) > 0),
    digest bytea NOT NULL,
    request uuid NOT NULL,    -- number chosen by the writer before anything was sent
    part bigint NOT NULL,     -- position in the request, from 0
    writer text NOT NULL DEFAULT session_user,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (store, seq)
);
CREATE UNIQUE INDEX record_position ON lineage.record (store, position);
CREATE UNIQUE INDEX record_request ON lineage.record (request) WHERE part = 0;

-- Bytes of an open end that a writer moved to results.tsv.torn-N on its machine.
CREATE TABLE lineage.aside (
    store integer NOT NULL REFERENCES lineage.store,
    position bigint NOT NULL,
    bytes bytea NOT NULL,
    writer text NOT NULL DEFAULT session_user,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- ENABLE ALWAYS, so that neither session_replication_role nor a superuser bypasses the triggers.
CREATE FUNCTION lineage.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'lineage.% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON lineage.record
    FOR EACH STATEMENT EXECUTE FUNCTION lineage.refuse();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON lineage.aside
    FOR EACH STATEMENT EXECUTE FUNCTION lineage.refuse();
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON lineage.store
    FOR EACH STATEMENT EXECUTE FUNCTION lineage.refuse();
ALTER TABLE lineage.record ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE lineage.aside ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE lineage.store ENABLE ALWAYS TRIGGER append_only;

-- A head moves forward to an existing record, or stays; it never moves back.
CREATE FUNCTION lineage.check_head() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.id <> OLD.id OR NEW.uuid <> OLD.uuid OR NEW.name <> OLD.name OR NEW.seq < OLD.seq
       OR (NEW.seq = OLD.seq AND (NEW.size <> OLD.size OR NEW.digest <> OLD.digest))
       OR (NEW.seq > OLD.seq AND NOT EXISTS (
               SELECT FROM lineage.record r WHERE r.store = NEW.id AND r.seq = NEW.seq AND r.digest = NEW.digest
                  AND r.position + octet_length(r.bytes) = NEW.size)) THEN
        RAISE EXCEPTION 'the head of a store follows its records: % refused', TG_OP USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER check_head BEFORE UPDATE ON lineage.store FOR EACH ROW EXECUTE FUNCTION lineage.check_head();
ALTER TABLE lineage.store ENABLE ALWAYS TRIGGER check_head;

-- The claim: locks the head until the transaction ends. Returns how many records of the request are in the log; under
-- the claim that answer is final, because nobody else can add any. Also returns what was added after record `known`, so
-- that the claim needs no second question. The server ends a writer that stops while it holds the claim.
CREATE FUNCTION lineage.claim(of_store integer, of_request uuid, known bigint,
                              OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_end bytea, OUT open_ends bigint,
                              OUT there bigint, OUT newer bytea)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('idle_in_transaction_session_timeout', '10s', true);
    SELECT s.seq, s.size, s.digest, s.open_end, s.open_ends INTO STRICT seq, size, digest, open_end, open_ends
      FROM lineage.store s WHERE s.id = of_store FOR UPDATE;
    SELECT count(*) INTO there FROM lineage.record r WHERE r.request = of_request AND r.part = 0;
    IF known BETWEEN seq - 1000 AND seq THEN
        SELECT coalesce(string_agg(r.bytes, ''::bytea ORDER BY r.seq), '') INTO newer
          FROM lineage.record r WHERE r.store = of_store AND r.seq > known;
    END IF;
END $$;

-- Adds records behind record `after_seq`, the last one that the writer knows. The records and the new open end begin
-- with the old open end. A request that is in the log already adds nothing. `part` is that of the first record: 0, or
-- more if the request has several calls in one transaction. SQLSTATE LN001: others have appended.
CREATE FUNCTION lineage.append(of_store integer, after_seq bigint, of_request uuid, first_part bigint, records bytea[],
                               new_open_end bytea,
                               OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_ends bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lineage.store;
    joined bytea := '';
    one bytea;
    n bigint := first_part;
BEGIN
    SELECT * INTO STRICT head FROM lineage.store s WHERE s.id = of_store FOR UPDATE;
    IF first_part = 0 AND EXISTS (SELECT FROM lineage.record r WHERE r.request = of_request AND r.part = 0) THEN
        RAISE EXCEPTION 'this request was appended before' USING ERRCODE = 'LN002';
    END IF;
    IF head.seq <> after_seq THEN
        RAISE EXCEPTION 'the log has grown' USING ERRCODE = 'LN001';
    END IF;
    IF octet_length(head.open_end) > 0 THEN
        FOREACH one IN ARRAY records LOOP
            joined := joined || one;
        END LOOP;
        joined := joined || new_open_end;
        IF substr(joined, 1, octet_length(head.open_end)) <> head.open_end THEN
            RAISE EXCEPTION 'the open end would be lost' USING ERRCODE = 'insufficient_privilege';
        END IF;
    END IF;
    seq := head.seq;
    size := head.size;
    digest := head.digest;
    FOREACH one IN ARRAY records LOOP
        seq := seq + 1;
        digest := sha256(digest || one);
        INSERT INTO lineage.record (store, seq, position, bytes, digest, request, part)
            VALUES (of_store, seq, size, one, digest, of_request, n);
        size := size + octet_length(one);
        n := n + 1;
    END LOOP;
    open_ends := head.open_ends + (new_open_end <> head.open_end)::integer;
    UPDATE lineage.store s SET seq = append.seq, size = append.size, digest = append.digest, open_end = new_open_end,
           open_ends = append.open_ends WHERE s.id = of_store;
    PERFORM pg_notify('lineage_' || of_store, seq::text);
END $$;

-- Mends the open end: moves its first `length` bytes to lineage.aside. If bytes follow them, line ends replace the moved
-- bytes and the rest becomes the open end; otherwise the open end is empty.
CREATE FUNCTION lineage.mend(of_store integer, after_seq bigint, length bigint,
                             OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_end bytea, OUT open_ends bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lineage.store;
    of_request uuid := gen_random_uuid();
BEGIN
    SELECT * INTO STRICT head FROM lineage.store s WHERE s.id = of_store FOR UPDATE;
    IF head.seq <> after_seq OR length < 1 OR length > octet_length(head.open_end) THEN
        RAISE EXCEPTION 'the open end is another one' USING ERRCODE = 'LN001';
    END IF;
    INSERT INTO lineage.aside (store, position, bytes) VALUES (of_store, head.size, substr(head.open_end, 1, length::integer));
    seq := head.seq;
    size := head.size;
    digest := head.digest;
    open_end := substr(head.open_end, length::integer + 1);
    open_ends := head.open_ends + 1;
    IF octet_length(open_end) > 0 THEN
        FOR i IN 1..length LOOP
            seq := seq + 1;
            digest := sha256(digest || '\x0a'::bytea);
            INSERT INTO lineage.record (store, seq, position, bytes, digest, request, part)
                VALUES (of_store, seq, size, '\x0a', digest, of_request, i - 1);
            size := size + 1;
        END LOOP;
    END IF;
    UPDATE lineage.store s SET seq = mend.seq, size = mend.size, digest = mend.digest, open_end = mend.open_end,
           open_ends = mend.open_ends WHERE s.id = of_store;
END $$;

-- Replaces the settings of the store, if they are still those that the caller read.
CREATE FUNCTION lineage.set_settings(of_store integer, old_settings text, new_settings text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH done AS (UPDATE lineage.store SET settings = new_settings
                   WHERE id = of_store AND settings = old_settings RETURNING 1)
    SELECT EXISTS (SELECT FROM done);
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lineage FROM PUBLIC;
