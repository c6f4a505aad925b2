-- Version 4: who appends does not hold the head while the server's disk takes the commit. The append commits without
-- waiting for the disk, which frees the head at once, and is acknowledged after a commit of its own that does wait: one
-- flush of the WAL then serves all who wait for one. What is not flushed yet is lost when the server crashes, with
-- everything behind it; so it is shown to nobody: who looks at the log waits for the same flush.

-- Everything that the caller can see is on the disk when the statement that calls this has committed. An empty message in
-- the WAL, of a transaction, makes that a commit which waits; not needed where nothing has been written since the last
-- flush, nor on a standby, which has nothing that its server has not flushed.
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

-- As it was, and the transaction that it is part of commits without waiting: lineage.flush() belongs behind the commit.
CREATE OR REPLACE FUNCTION lineage.append(of_store integer, after_seq bigint, of_request uuid, first_part bigint,
                                          records bytea[], new_open_end bytea,
                                          OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_ends bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lineage.store;
    joined bytea := '';
    one bytea;
    n bigint := first_part;
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

REVOKE ALL ON FUNCTION lineage.flush() FROM PUBLIC;
