-- Version 7: no id is given twice, also after a failover to a server that lacks the last rows; and claims do not wait for standbys.
--
-- An asynchronous standby, or a restored backup, may lack rows that were acknowledged, and nothing in it shows how many. So the
-- head notes on which server it was written last. The first writer on another one leaves out the ids up to the next multiple of
-- 1,000,000: after a failover ids go on at 1000000, after another one at 2000000. An id is given twice only if more than a
-- million of them were lost at once.

-- Names what a failover or a restored copy changes: the number of the cluster (a dump that is loaded elsewhere), its timeline (a
-- promoted standby, recovery to a moment), and the table (a dump that is loaded into another database of the same cluster). Each
-- append calls it, so it has no settings of its own, which would make it slower; its names have their schemas.
CREATE FUNCTION lineage.place() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN pg_catalog.concat((pg_catalog.pg_control_system()).system_identifier, '/',
                             pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8), '/',
                             'lineage.store'::pg_catalog.regclass::pg_catalog.oid);
END $$;

ALTER TABLE lineage.store ADD place text NOT NULL DEFAULT lineage.place();

-- Each time that ids were left out: behind which record, and why.
CREATE TABLE lineage.gap (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    store integer NOT NULL,
    seq bigint NOT NULL,     -- last record before it
    ids_from bigint NOT NULL, -- first id that was left out
    ids_to bigint NOT NULL,   -- first id behind them
    old_place text NOT NULL,
    new_place text NOT NULL,  -- the same if a client showed that rows are gone
    writer text NOT NULL DEFAULT session_user,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON lineage.gap
    FOR EACH STATEMENT EXECUTE FUNCTION lineage.refuse();
ALTER TABLE lineage.gap ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE lineage.gap ENABLE ROW LEVEL SECURITY;
CREATE POLICY members ON lineage.gap FOR SELECT USING (store IN (SELECT lineage.readable()));

-- Leaves ids out if the head was written elsewhere, or if the caller knows that the ids below `given` were given and the log has
-- fewer (NULL: nothing known). Returns the next id and the digits of ids. A statement that is more than 10^9 ids ahead is ignored, and
-- in a log that is near the longest ids (18 digits) they go on without a gap.
CREATE FUNCTION lineage.leave_gap(of_store integer, given bigint, OUT next_id bigint, OUT id_width integer)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lineage.store;
    here text := lineage.place();
    top bigint;
BEGIN
    SELECT * INTO STRICT head FROM lineage.store s WHERE s.id = of_store FOR UPDATE;
    top := greatest(head.next_id, head.top_id + 1);
    next_id := head.next_id;
    id_width := head.id_width;
    IF head.place = here AND coalesce(given <= top, true) THEN
        RETURN;
    END IF;
    IF given BETWEEN top AND top + 1000000000 THEN
        top := given;
    END IF;
    IF top <= 100000000000000000 AND (head.place <> here OR given = top) THEN
        next_id := (top / 1000000 + 1) * 1000000;
        id_width := greatest(id_width, length(next_id::text));
        INSERT INTO lineage.gap (store, seq, ids_from, ids_to, old_place, new_place)
            VALUES (of_store, head.seq, greatest(head.next_id, head.top_id + 1), next_id, head.place, here);
    END IF;
    UPDATE lineage.store s SET next_id = leave_gap.next_id, id_width = leave_gap.id_width, place = here,
           top_width = greatest(s.top_width, leave_gap.id_width) WHERE s.id = of_store;
END $$;

-- For a client that has receipts or a copy of rows that the log no longer has.
CREATE FUNCTION lineage.skip_ids(of_store integer, given bigint, OUT next_id bigint, OUT id_width integer)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM lineage.demand(of_store, 'writer');
    SELECT g.* INTO next_id, id_width FROM lineage.leave_gap(of_store, given) g;
END $$;

-- Like the version in 006_rights.sql, except: it leaves ids out where that is needed, and returns the next id and its digits.
DROP FUNCTION lineage.claim(integer, uuid, bigint);
CREATE FUNCTION lineage.claim(of_store integer, of_request uuid, known bigint,
                              OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_end bytea, OUT open_ends bigint,
                              OUT there bigint, OUT newer bytea, OUT next_id bigint, OUT id_width integer)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM lineage.demand(of_store, 'writer');
    SELECT c.* INTO seq, size, digest, open_end, open_ends, there, newer FROM lineage.claim_any(of_store, of_request, known) c;
    SELECT g.* INTO next_id, id_width FROM lineage.leave_gap(of_store, NULL) g;
END $$;

-- Like the versions in 006_rights.sql, except: a writer without a claim on this server, which does not know the left-out
-- ids, is sent to make a claim.
CREATE OR REPLACE FUNCTION lineage.append(of_store integer, after_seq bigint, of_request uuid, first_part bigint, records bytea[],
                               new_open_end bytea, new_next_id bigint DEFAULT NULL, new_id_width integer DEFAULT NULL,
                               kept boolean DEFAULT true,
                               OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_ends bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lineage.store;
    joined bytea := '';
    one bytea;
    digits text;
    digests bytea[] := '{}';
    positions bigint[] := '{}';
    top bigint;
    width integer;
    told boolean;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM lineage.demand(of_store, 'writer');
    SELECT * INTO STRICT head FROM lineage.store s WHERE s.id = of_store FOR UPDATE;
    IF first_part = 0 AND EXISTS (SELECT FROM lineage.record r WHERE r.request = of_request AND r.part = 0) THEN
        RAISE EXCEPTION 'this request was appended before' USING ERRCODE = 'LN002';
    END IF;
    IF head.seq <> after_seq OR head.place <> lineage.place() THEN
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
    top := head.top_id;
    width := head.top_width;
    FOREACH one IN ARRAY records LOOP
        IF lineage.is_record(one) IS NOT TRUE THEN
            RAISE EXCEPTION 'a record is one line with its line end' USING ERRCODE = 'check_violation';
        END IF;
        digits := lineage.id_digits(one);
        IF digits IS NOT NULL THEN
            top := greatest(top, digits::bigint);
            width := greatest(width, length(digits));
        END IF;
        digest := sha256(digest || one);
        digests := array_append(digests, digest);
        positions := array_append(positions, size);
        size := size + octet_length(one);
    END LOOP;
    told := coalesce(new_next_id BETWEEN head.next_id AND greatest(top + 1, head.next_id + cardinality(records))
                     AND new_id_width BETWEEN head.id_width AND greatest(width, head.id_width), false);
    seq := head.seq + cardinality(records);
    INSERT INTO lineage.record (store, seq, position, bytes, digest, request, part)
        SELECT of_store, head.seq + r.n, r.position, r.bytes, r.digest, of_request, first_part + r.n - 1
          FROM unnest(records, positions, digests) WITH ORDINALITY AS r(bytes, position, digest, n);
    open_ends := head.open_ends + (new_open_end <> head.open_end)::integer;
    UPDATE lineage.store s SET seq = append.seq, size = append.size, digest = append.digest, open_end = new_open_end,
           open_ends = append.open_ends, next_id = CASE WHEN told THEN new_next_id ELSE head.next_id END,
           id_width = CASE WHEN told THEN new_id_width ELSE head.id_width END, top_id = top, top_width = width,
           kept_seq = CASE WHEN kept OR head.told_seq <> head.seq THEN append.seq ELSE head.kept_seq END,
           told_seq = CASE WHEN told THEN append.seq ELSE head.told_seq END
     WHERE s.id = of_store;
    PERFORM pg_notify('lineage_' || of_store, seq::text);
END $$;

CREATE OR REPLACE FUNCTION lineage.append_next(of_store integer, known bigint, of_request uuid, rest bytea, kept boolean,
                                    OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_end bytea,
                                    OUT open_ends bigint, OUT id text)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    here text := lineage.place();
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM lineage.demand(of_store, 'writer');
    IF substr(rest, 1, 1) <> '\x09' OR lineage.is_record(rest) IS NOT TRUE THEN
        RAISE EXCEPTION 'a record is one line with its line end' USING ERRCODE = 'check_violation';
    END IF;
    WITH head AS (
        UPDATE lineage.store AS s
           SET seq = s.seq + 1, next_id = s.next_id + 1, told_seq = s.seq + 1, top_id = greatest(s.top_id, s.next_id),
               top_width = greatest(s.top_width, length(lineage.id_text(s.next_id, s.id_width))),
               kept_seq = CASE WHEN append_next.kept THEN s.seq + 1 ELSE s.kept_seq END,
               size = s.size + octet_length(lineage.id_text(s.next_id, s.id_width)) + octet_length(rest),
               digest = sha256(s.digest || convert_to(lineage.id_text(s.next_id, s.id_width), 'UTF8') || rest)
         WHERE s.id = of_store AND s.told_seq = s.seq AND known BETWEEN s.kept_seq AND s.seq AND s.open_end = ''
               AND s.place = here
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

-- ---- witnesses ----
-- Whether another server has everything that the caller sees, so that a client needs its receipts no more: synchronous standbys,
-- for which lineage.flush() waits, or every standby that is connected now. The owner of the schema may see the positions of standbys
-- if it is a superuser or in pg_monitor. A subscriber of a publication is not a standby.
CREATE FUNCTION lineage.is_copied() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('synchronous_standby_names') <> '' THEN
        RETURN true;
    ELSIF pg_is_in_recovery() THEN
        RETURN false;
    END IF;
    RETURN (SELECT coalesce(bool_and(coalesce(r.flush_lsn >= pg_current_wal_insert_lsn(), false)), false)
              FROM pg_stat_replication r WHERE NOT EXISTS (
                  SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical'));
END $$;

-- ---- claims of trials ----
-- Claims are not part of the log, and a claim that a failover loses costs a trial that runs twice, of which the first row counts.
-- So they do not wait for standbys: workers go on while the only standby is down, and their trials wait in the outbox.
CREATE FUNCTION lineage.commit_locally() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('synchronous_commit') <> 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
END $$;

ALTER FUNCTION lineage.claim_trial(integer, text, bigint[], text, double precision, bigint) RENAME TO claim_trial_any;
ALTER FUNCTION lineage.renew_trial(integer, bigint, bigint, text, text, double precision, text) RENAME TO renew_trial_any;
ALTER FUNCTION lineage.release_trial(integer, bigint, bigint, text, boolean, boolean) RENAME TO release_trial_any;
CREATE FUNCTION lineage.claim_trial(of_store integer, of_night text, keys bigint[], of_worker text, lease double precision,
                                    at_most bigint)
    RETURNS TABLE (which bigint, of_attempt bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM lineage.commit_locally();
    RETURN QUERY SELECT * FROM lineage.claim_trial_any(of_store, of_night, keys, of_worker, lease, at_most);
END $$;
CREATE FUNCTION lineage.renew_trial(of_store integer, of_key bigint, of_attempt bigint, old_worker text, new_worker text,
                                    lease double precision, new_about text)
    RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM lineage.commit_locally();
    RETURN lineage.renew_trial_any(of_store, of_key, of_attempt, old_worker, new_worker, lease, new_about);
END $$;
CREATE FUNCTION lineage.release_trial(of_store integer, of_key bigint, of_attempt bigint, of_worker text, done boolean,
                                      lapsed boolean)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM lineage.commit_locally();
    PERFORM lineage.release_trial_any(of_store, of_key, of_attempt, of_worker, done, lapsed);
END $$;

-- Nothing that is not granted may be called, whichever role could call it in an earlier version.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lineage FROM PUBLIC;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'lineage_writer') THEN
        REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lineage FROM lineage_writer;
    END IF;
END $$;
