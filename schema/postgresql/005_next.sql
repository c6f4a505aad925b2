-- Version 5: the common append, of one row whose id is the next one, is one statement without a claim. Ids and comparisons
-- are the writers' affair as before: each append says what the next id is behind it, and whether it kept something.
--   next_id, id_width  the id behind record told_seq, and its digits
--   kept_seq           no record behind it was kept, so who knows the log up to there, or further, knows the best
--   told_seq           the last record of an append that said so; where it is not `seq`, the next append takes the claim
ALTER TABLE lineage.store ADD next_id bigint NOT NULL DEFAULT 0, ADD id_width integer NOT NULL DEFAULT 0,
    ADD kept_seq bigint NOT NULL DEFAULT 0, ADD told_seq bigint NOT NULL DEFAULT -1;

-- A store cannot go away (append_only), so each record need not look whether it is there.
ALTER TABLE lineage.record DROP CONSTRAINT record_store_fkey;

-- As it was, and takes what the writer says of the log behind it; NULL: nothing.
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
           open_ends = append.open_ends, next_id = coalesce(new_next_id, head.next_id),
           id_width = coalesce(new_id_width, head.id_width),
           kept_seq = CASE WHEN kept OR head.told_seq <> head.seq THEN append.seq ELSE head.kept_seq END,
           told_seq = CASE WHEN new_next_id IS NULL THEN head.told_seq ELSE append.seq END
     WHERE s.id = of_store;
    PERFORM pg_notify('lineage_' || of_store, seq::text);
END $$;

-- Add the record that begins with the next id and goes on with `rest`, decided upon by who knew the log up to record
-- `known`. Nothing, and no row of results that is not NULL, if that may not hold any more. A request that is there already
-- violates record_request.
CREATE FUNCTION lineage.append_next(of_store integer, known bigint, of_request uuid, rest bytea, kept boolean,
                                    OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_end bytea,
                                    OUT open_ends bigint, OUT id text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lineage.store;
    one bytea;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT * INTO STRICT head FROM lineage.store s WHERE s.id = of_store FOR UPDATE;
    IF head.told_seq <> head.seq OR known NOT BETWEEN head.kept_seq AND head.seq OR octet_length(head.open_end) > 0 THEN
        RETURN;
    END IF;
    id := lpad(head.next_id::text, greatest(head.id_width, length(head.next_id::text)), '0');
    one := convert_to(id, 'UTF8') || rest;
    seq := head.seq + 1;
    size := head.size + octet_length(one);
    digest := sha256(head.digest || one);
    open_end := head.open_end;
    open_ends := head.open_ends;
    INSERT INTO lineage.record (store, seq, position, bytes, digest, request, part)
        VALUES (of_store, append_next.seq, head.size, one, append_next.digest, of_request, 0);
    UPDATE lineage.store s SET seq = append_next.seq, size = append_next.size, digest = append_next.digest,
           next_id = head.next_id + 1, kept_seq = CASE WHEN kept THEN append_next.seq ELSE head.kept_seq END,
           told_seq = append_next.seq
     WHERE s.id = of_store;
    PERFORM pg_notify('lineage_' || of_store, seq::text);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lineage FROM PUBLIC;
