-- Version 4: writers share the flushes of the server's disk, and the common append is one statement without a claim.
--
-- A writer does not hold the head while its commit is written to disk. The append commits without waiting, which frees
-- the head at once, and is confirmed after a second commit that does wait: one flush of the WAL then serves every writer
-- that waits. Records that are not flushed are lost if the server crashes, with everything behind them, so they are shown
-- to nobody: a reader of the log waits for the same flush.
--
-- The writers still decide ids and comparisons: each append states the next id behind it, and whether it kept a trial.
--   next_id, id_width  the id behind record told_seq, and its digits
--   kept_seq           no record behind it was kept, so a writer that knows the log up to there knows the best
--   told_seq           the last record of an append that stated these; if it is not `seq`, the next append needs the claim
ALTER TABLE lineage.store ADD next_id bigint NOT NULL DEFAULT 0, ADD id_width integer NOT NULL DEFAULT 0,
    ADD kept_seq bigint NOT NULL DEFAULT 0, ADD told_seq bigint NOT NULL DEFAULT -1;

-- These checks would be repeated by each append although they cannot fail: a store is never removed or renamed, and the
-- digest is computed here.
ALTER TABLE lineage.record DROP CONSTRAINT record_store_fkey, DROP CONSTRAINT record_bytes_check;
ALTER TABLE lineage.store DROP CONSTRAINT store_name_check, DROP CONSTRAINT store_digest_check;
CREATE FUNCTION lineage.check_name() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.name !~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$' THEN
        RAISE EXCEPTION '% names no store', NEW.name USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER check_name BEFORE INSERT ON lineage.store FOR EACH ROW EXECUTE FUNCTION lineage.check_name();
ALTER TABLE lineage.store ENABLE ALWAYS TRIGGER check_name;

-- AFTER, so that the same statement may add the record.
DROP TRIGGER check_head ON lineage.store;
CREATE TRIGGER check_head AFTER UPDATE ON lineage.store FOR EACH ROW EXECUTE FUNCTION lineage.check_head();
ALTER TABLE lineage.store ENABLE ALWAYS TRIGGER check_head;

-- When the statement that calls this has committed, everything that the caller can see is on disk. An empty
-- transactional message in the WAL makes it a commit that waits. That is not needed if nothing was written since the last
-- flush, nor on a standby, which only has what its server has flushed.
CREATE FUNCTION lineage.flush() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_is_in_recovery() OR pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn() THEN
        RETURN;
    END IF;
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM pg_logical_emit_message(true, 'lineage', '');
END $$;

-- Like the version in 001_log.sql, except: its transaction commits without waiting, so that lineage.flush() must follow the
-- commit; it takes the writer's statement about the log behind it (NULL: none); and one statement inserts all records.
-- Not COPY: of the server's time for 100,000 records (perf) the table and its three indexes take two thirds, the digests
-- a twelfth, and parsing the message, which is all that COPY would speed up, an eighth. Writers would need a table to copy
-- into, which would be filled and emptied on the way.
DROP FUNCTION lineage.append(integer, bigint, uuid, bigint, bytea[], bytea);
CREATE FUNCTION lineage.append(of_store integer, after_seq bigint, of_request uuid, first_part bigint, records bytea[],
                               new_open_end bytea, new_next_id bigint DEFAULT NULL, new_id_width integer DEFAULT NULL,
                               kept boolean DEFAULT true,
                               OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_ends bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lineage.store;
    joined bytea := '';
    one bytea;
    digests bytea[] := '{}';
    positions bigint[] := '{}';
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
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
    size := head.size;
    digest := head.digest;
    FOREACH one IN ARRAY records LOOP
        IF octet_length(one) IS NOT DISTINCT FROM 0 THEN
            RAISE EXCEPTION 'a record has bytes' USING ERRCODE = 'check_violation';
        END IF;
        digest := sha256(digest || one);
        digests := array_append(digests, digest);
        positions := array_append(positions, size);
        size := size + octet_length(one);
    END LOOP;
    seq := head.seq + cardinality(records);
    INSERT INTO lineage.record (store, seq, position, bytes, digest, request, part)
        SELECT of_store, head.seq + r.n, r.position, r.bytes, r.digest, of_request, first_part + r.n - 1
          FROM unnest(records, positions, digests) WITH ORDINALITY AS r(bytes, position, digest, n);
    open_ends := head.open_ends + (new_open_end <> head.open_end)::integer;
    UPDATE lineage.store s SET seq = append.seq, size = append.size, digest = append.digest, open_end = new_open_end,
           open_ends = append.open_ends, next_id = coalesce(new_next_id, head.next_id),
           id_width = coalesce(new_id_width, head.id_width),
           kept_seq = CASE WHEN kept OR head.told_seq <> head.seq THEN append.seq ELSE head.kept_seq END,
           told_seq = CASE WHEN new_next_id IS NULL THEN head.told_seq ELSE append.seq END
     WHERE s.id = of_store;
    PERFORM pg_notify('lineage_' || of_store, seq::text);
END $$;

-- An id in the form that writers use: padded to the widest id in the log.
CREATE FUNCTION lineage.id_text(number bigint, width integer) RETURNS text
    LANGUAGE sql IMMUTABLE AS $$ SELECT lpad(number::text, greatest(width, length(number::text)), '0') $$;

-- Adds the record that begins with the next id and continues with `rest`, for a writer that knew the log up to record
-- `known`. Adds nothing and returns NULLs if its decisions may not hold any more. A request that is in the log already
-- violates record_request. It is one statement whose first part locks the head, so that a writer that waited sees the
-- current head.
CREATE FUNCTION lineage.append_next(of_store integer, known bigint, of_request uuid, rest bytea, kept boolean,
                                    OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_end bytea,
                                    OUT open_ends bigint, OUT id text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    WITH head AS (
        UPDATE lineage.store AS s
           SET seq = s.seq + 1, next_id = s.next_id + 1, told_seq = s.seq + 1,
               kept_seq = CASE WHEN append_next.kept THEN s.seq + 1 ELSE s.kept_seq END,
               size = s.size + octet_length(lineage.id_text(s.next_id, s.id_width)) + octet_length(rest),
               digest = sha256(s.digest || convert_to(lineage.id_text(s.next_id, s.id_width), 'UTF8') || rest)
         WHERE s.id = of_store AND s.told_seq = s.seq AND known BETWEEN s.kept_seq AND s.seq AND s.open_end = ''
        RETURNING s.seq, s.size, s.digest, s.open_end, s.open_ends, lineage.id_text(s.next_id - 1, s.id_width) AS id
    ), added AS (
        INSERT INTO lineage.record (store, seq, position, bytes, digest, request, part)
            SELECT of_store, h.seq, h.size - octet_length(h.id) - octet_length(rest), convert_to(h.id, 'UTF8') || rest,
                   h.digest, of_request, 0 FROM head h
    )
    SELECT h.seq, h.size, h.digest, h.open_end, h.open_ends, h.id INTO seq, size, digest, open_end, open_ends, id FROM head h;
    IF FOUND THEN
        PERFORM pg_notify('lineage_' || of_store, seq::text);
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lineage FROM PUBLIC;
