-- Version 6: rights per store, and a server that checks what a writer sends. Before it, a careless or hostile lineage_writer
-- could change the settings of every store, append bytes that merge with the next row, set the next id to any number, and
-- hold the trials of other workers for years.

-- ---- rights ----
-- A store is open to every lineage_writer and lineage_reader until its owner grants the first right (lineage.let). Then only
-- its members have it. The owner of the schema may do everything. Rights belong to session_user, the role that logged in,
-- because inside these functions current_user is the owner of the schema.
ALTER TABLE lineage.store ADD owner regrole NOT NULL DEFAULT to_regrole(quote_ident(session_user)),
    ADD open boolean NOT NULL DEFAULT true;

CREATE TABLE lineage.member (
    store integer NOT NULL REFERENCES lineage.store,
    role regrole NOT NULL, -- a user, or a group whose members all have the right
    may text NOT NULL CHECK (may IN ('owner', 'writer', 'reader')),
    by text NOT NULL DEFAULT session_user,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (store, role)
);

-- Whether the user has the right, or a wider one.
CREATE FUNCTION lineage.may(of_store integer, wanted text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM lineage.store s WHERE s.id = of_store AND (
            (s.open AND wanted IN ('reader', 'writer'))
            OR pg_has_role(session_user, s.owner, 'MEMBER')
            OR pg_has_role(session_user, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = 'lineage'), 'MEMBER')
            OR EXISTS (SELECT FROM lineage.member m JOIN pg_roles r ON r.oid = m.role
                        WHERE m.store = s.id AND pg_has_role(session_user, r.oid, 'MEMBER')
                          AND (m.may = wanted OR m.may = 'owner' OR (m.may = 'writer' AND wanted = 'reader')))));
$$;

CREATE FUNCTION lineage.demand(of_store integer, wanted text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT lineage.may(of_store, wanted) THEN
        RAISE EXCEPTION 'user "%" does not have the right "%" in this store', session_user, wanted
            USING ERRCODE = 'insufficient_privilege';
    END IF;
END $$;

-- The stores that the user may read. A policy evaluates it once per statement.
CREATE FUNCTION lineage.readable() RETURNS SETOF integer
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.id FROM lineage.store s WHERE lineage.may(s.id, 'reader');
$$;

-- Gives a role the right 'owner', 'writer' or 'reader', or takes it away ('none'), and closes the store to everybody else.
CREATE FUNCTION lineage.let(of_name text, of_role text, new_right text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_store integer := (SELECT s.id FROM lineage.store s WHERE s.name = of_name);
    the_role regrole := to_regrole(quote_ident(of_role));
BEGIN
    PERFORM lineage.demand(of_store, 'owner');
    IF the_role IS NULL OR new_right IS NULL OR new_right NOT IN ('owner', 'writer', 'reader', 'none') THEN
        RAISE EXCEPTION 'lineage.let(store, role, right): there is no role "%", or "%" is not owner, writer, reader or none',
            of_role, new_right USING ERRCODE = 'invalid_parameter_value';
    END IF;
    DELETE FROM lineage.member m WHERE m.store = of_store AND m.role = the_role;
    INSERT INTO lineage.member (store, role, may) SELECT of_store, the_role, new_right WHERE new_right <> 'none';
    UPDATE lineage.store s SET open = false WHERE s.id = of_store AND s.open;
END $$;

-- Opens a store to every lineage_writer and lineage_reader again.
CREATE FUNCTION lineage.let_all(of_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_store integer := (SELECT s.id FROM lineage.store s WHERE s.name = of_name);
BEGIN
    PERFORM lineage.demand(of_store, 'owner');
    UPDATE lineage.store s SET open = true WHERE s.id = of_store;
END $$;

-- The functions of the schema run as its owner, to whom the policies do not apply.
ALTER TABLE lineage.store ENABLE ROW LEVEL SECURITY;
ALTER TABLE lineage.record ENABLE ROW LEVEL SECURITY;
ALTER TABLE lineage.aside ENABLE ROW LEVEL SECURITY;
ALTER TABLE lineage.trial_claim ENABLE ROW LEVEL SECURITY;
ALTER TABLE lineage.blob ENABLE ROW LEVEL SECURITY;
ALTER TABLE lineage.chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE lineage.member ENABLE ROW LEVEL SECURITY;
CREATE POLICY members ON lineage.store FOR SELECT USING (id IN (SELECT lineage.readable()));
CREATE POLICY members ON lineage.record FOR SELECT USING (store IN (SELECT lineage.readable()));
CREATE POLICY members ON lineage.aside FOR SELECT USING (store IN (SELECT lineage.readable()));
CREATE POLICY members ON lineage.trial_claim FOR SELECT USING (store IN (SELECT lineage.readable()));
CREATE POLICY members ON lineage.blob FOR SELECT USING (store IN (SELECT lineage.readable()));
CREATE POLICY members ON lineage.chunk FOR SELECT USING (store IN (SELECT lineage.readable()));
CREATE POLICY members ON lineage.member FOR SELECT USING (store IN (SELECT lineage.readable()));

-- ---- settings ----
-- Every version of a store's settings, with its author.
CREATE TABLE lineage.setting (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    store integer NOT NULL,
    settings text NOT NULL,
    writer text NOT NULL DEFAULT session_user,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON lineage.setting
    FOR EACH STATEMENT EXECUTE FUNCTION lineage.refuse();
ALTER TABLE lineage.setting ENABLE ALWAYS TRIGGER append_only;
ALTER TABLE lineage.setting ENABLE ROW LEVEL SECURITY;
CREATE POLICY members ON lineage.setting FOR SELECT USING (store IN (SELECT lineage.readable()));
INSERT INTO lineage.setting (store, settings, writer, at) SELECT s.id, s.settings, '', v.applied
    FROM lineage.store s, lineage.version v WHERE v.version = 1 ORDER BY s.id;

-- Why every program would refuse these settings; NULL if they are valid. The keys and bounds are those of
-- src/store/format/config.c.
CREATE FUNCTION lineage.settings_fault(settings text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known text[] := ARRAY['direction', 'metric', 'metric_label', 'min_delta', 'noise_std', 'noise_seeds', 'noise_freedom',
                          'noise_runs', 'night_trials', 'second', 'second_direction', 'second_noise_std', 'knobs',
                          'secret_files', 'harmless_names'];
    seen text[] := '{}';
    one record;
BEGIN
    IF octet_length(settings) > 1048576 THEN
        RETURN 'they are longer than 1 MiB';
    END IF;
    BEGIN
        IF json_typeof(settings::json) <> 'object' THEN
            RETURN 'they are not a JSON object';
        END IF;
    EXCEPTION WHEN invalid_text_representation THEN
        RETURN 'they are not JSON';
    END;
    FOR one IN SELECT e.key, e.value, json_typeof(e.value) AS type, e.value #>> '{}' AS text FROM json_each(settings::json) e LOOP
        IF one.key <> ALL (known) OR one.key = ANY (seen) THEN
            RETURN format('the key "%s" is unknown, or appears twice', one.key);
        ELSIF one.key IN ('direction', 'second_direction') AND (one.type <> 'string' OR one.text NOT IN ('lower', 'higher')) THEN
            RETURN format('"%s" is "lower" or "higher"', one.key);
        ELSIF one.key IN ('metric', 'metric_label', 'second') AND (one.type <> 'string' OR octet_length(one.text) > 63) THEN
            RETURN format('"%s" is a string of at most 63 bytes', one.key);
        ELSIF one.key IN ('min_delta', 'noise_std', 'second_noise_std')
              AND (one.type <> 'number' OR one.text::numeric < 0 OR one.text::numeric > 1e308) THEN
            RETURN format('"%s" is a number from 0 on', one.key);
        ELSIF one.key IN ('noise_seeds', 'noise_freedom', 'noise_runs', 'night_trials')
              AND (one.type <> 'number' OR one.text !~ '^[0-9]{1,7}$' OR one.text::bigint > 1000000) THEN
            RETURN format('"%s" is a whole number from 0 to 1000000', one.key);
        END IF;
        seen := seen || one.key;
    END LOOP;
    RETURN NULL;
END $$;

CREATE FUNCTION lineage.note_settings() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    fault text := lineage.settings_fault(NEW.settings);
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION 'these settings are not valid: %', fault USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO lineage.setting (store, settings) VALUES (NEW.id, NEW.settings);
    RETURN NULL;
END $$;
CREATE TRIGGER note_settings AFTER INSERT ON lineage.store FOR EACH ROW EXECUTE FUNCTION lineage.note_settings();
CREATE TRIGGER note_new_settings AFTER UPDATE OF settings ON lineage.store FOR EACH ROW
    WHEN (NEW.settings IS DISTINCT FROM OLD.settings) EXECUTE FUNCTION lineage.note_settings();
ALTER TABLE lineage.store ENABLE ALWAYS TRIGGER note_settings;
ALTER TABLE lineage.store ENABLE ALWAYS TRIGGER note_new_settings;

CREATE OR REPLACE FUNCTION lineage.set_settings(of_store integer, old_settings text, new_settings text) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT lineage.demand(of_store, 'writer');
    WITH done AS (UPDATE lineage.store SET settings = new_settings
                   WHERE id = of_store AND settings = old_settings RETURNING 1)
    SELECT EXISTS (SELECT FROM done);
$$;

-- ---- ids ----
-- top_id is the highest number that any record had as its id, top_width the most digits. A writer's statement about the next
-- id is taken over only between the last one and what the records justify. Any other is left out, and the next append
-- decides under the claim.
ALTER TABLE lineage.store ADD top_id bigint NOT NULL DEFAULT -1, ADD top_width integer NOT NULL DEFAULT 3;

-- The digits of a numeric id at the beginning of the record; NULL if it begins with something else.
CREATE FUNCTION lineage.id_digits(record bytea) RETURNS text
    LANGUAGE sql IMMUTABLE SET standard_conforming_strings = on AS $$
    SELECT substring(encode(substr(record, 1, 24), 'escape') FROM '^(?:exp_)?([0-9]{1,18})\t');
$$;

-- The statement that made the store's next id need not be true: another program, or a hostile writer, may have chosen it.
-- The next append decides by its own reading, once.
UPDATE lineage.store s SET told_seq = -1, top_id = coalesce(t.id, -1), top_width = greatest(coalesce(t.width, 3), 3), next_id = 0
  FROM lineage.store o LEFT JOIN (SELECT r.store, max(lineage.id_digits(r.bytes)::bigint) AS id,
                                         max(length(lineage.id_digits(r.bytes))) AS width
                                    FROM lineage.record r GROUP BY r.store) t ON t.store = o.id
 WHERE o.id = s.id;

CREATE OR REPLACE FUNCTION lineage.check_head() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.id <> OLD.id OR NEW.uuid <> OLD.uuid OR NEW.name <> OLD.name OR NEW.seq < OLD.seq
       OR NEW.next_id < OLD.next_id OR NEW.top_id < OLD.top_id
       OR (NEW.seq = OLD.seq AND (NEW.size <> OLD.size OR NEW.digest <> OLD.digest))
       OR (NEW.seq > OLD.seq AND NOT EXISTS (
               SELECT FROM lineage.record r WHERE r.store = NEW.id AND r.seq = NEW.seq AND r.digest = NEW.digest
                  AND r.position + octet_length(r.bytes) = NEW.size)) THEN
        RAISE EXCEPTION 'the head of a store follows its records: % refused', TG_OP USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- ---- records ----
-- Whether the bytes are one record of results.tsv with its line end, by the rules of src/store/format/tsv.c: only the first
-- byte of a cell opens a quote, and a line end inside quotes belongs to the cell.
CREATE FUNCTION lineage.is_record(bytes bytea) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on AS $$
BEGIN
    IF position('\x22'::bytea IN bytes) = 0 AND position('\x0d'::bytea IN bytes) = 0 THEN
        RETURN octet_length(bytes) > 0 AND position('\x0a'::bytea IN bytes) = octet_length(bytes);
    END IF;
    RETURN encode(bytes, 'escape') ~ ('^(?:"(?:[^"]|"")*"(?:[^"\t\r\n][^\t\r\n]*)?|[^"\t\r\n][^\t\r\n]*)?'
        || '(?:\t(?:"(?:[^"]|"")*"(?:[^"\t\r\n][^\t\r\n]*)?|[^"\t\r\n][^\t\r\n]*)?)*(?:\r\n|\n|\r)$');
END $$;

-- Like the version in 004_append.sql, except: the user needs the right, each record is one record, and the statement about the
-- next id is checked.
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

-- The function of the claim in 001_log.sql checks nothing about rights, so it gets another name, and its caller has the check.
ALTER FUNCTION lineage.claim(integer, uuid, bigint) RENAME TO claim_any;
CREATE FUNCTION lineage.claim(of_store integer, of_request uuid, known bigint,
                              OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_end bytea, OUT open_ends bigint,
                              OUT there bigint, OUT newer bytea)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM lineage.demand(of_store, 'writer');
    SELECT c.* INTO seq, size, digest, open_end, open_ends, there, newer FROM lineage.claim_any(of_store, of_request, known) c;
END $$;
CREATE OR REPLACE FUNCTION lineage.mend(of_store integer, after_seq bigint, length bigint,
                             OUT seq bigint, OUT size bigint, OUT digest bytea, OUT open_end bytea, OUT open_ends bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head lineage.store;
    of_request uuid := gen_random_uuid();
BEGIN
    PERFORM lineage.demand(of_store, 'writer');
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

-- ---- flushes ----
-- With synchronous standbys, a row that is only on this server's disk can be gone after a failover, so a reader waits for the
-- standbys too, whatever its role's synchronous_commit is. Positions of the WAL that standbys have are shown to
-- administrators only, so this is a commit that waits each time.
CREATE OR REPLACE FUNCTION lineage.flush() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    standbys boolean := current_setting('synchronous_standby_names') <> '';
BEGIN
    IF pg_is_in_recovery() OR (NOT standbys AND pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn()) THEN
        RETURN;
    END IF;
    IF current_setting('synchronous_commit') = 'off' OR (standbys AND current_setting('synchronous_commit') = 'local') THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    PERFORM pg_logical_emit_message(true, 'lineage', '');
END $$;

-- ---- claims of trials ----
-- A lease lasts a day at most and belongs to the user that took it ('': taken before version 6).
ALTER TABLE lineage.trial_claim ADD holder text NOT NULL DEFAULT '';

CREATE FUNCTION lineage.lease_end(lease double precision) RETURNS timestamptz
    LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT clock_timestamp() + make_interval(secs => least(greatest(coalesce(lease, 0), 0), 86400));
$$;

CREATE OR REPLACE FUNCTION lineage.claim_trial(of_store integer, of_night text, keys bigint[], of_worker text, lease double precision,
                                    at_most bigint)
    RETURNS TABLE (which bigint, of_attempt bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    missing bigint[] := '{}';
BEGIN
    PERFORM lineage.demand(of_store, 'writer');
    IF at_most > 0 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('lineage night ' || of_night, of_store));
        IF (SELECT count(*) FROM lineage.trial_claim c WHERE c.store = of_store AND c.night = of_night
               AND c.until > clock_timestamp()) >= at_most THEN
            RETURN;
        END IF;
    END IF;
    FOR round IN 1..2 LOOP
        FOR place IN 1..cardinality(keys) LOOP
            PERFORM FROM lineage.trial_claim c WHERE c.store = of_store AND c.key = keys[place]
                AND c.until <= clock_timestamp() FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                which := place;
                UPDATE lineage.trial_claim c SET night = of_night, worker = of_worker, attempt = c.attempt + 1, about = '',
                       holder = session_user, until = lineage.lease_end(lease)
                 WHERE c.store = of_store AND c.key = keys[place] RETURNING c.attempt INTO of_attempt;
                RETURN NEXT;
                RETURN;
            ELSIF round = 1 THEN
                PERFORM FROM lineage.trial_claim c WHERE c.store = of_store AND c.key = keys[place];
                IF NOT FOUND THEN
                    missing := missing || keys[place];
                    EXIT WHEN cardinality(missing) = 64;
                END IF;
            END IF;
        END LOOP;
        EXIT WHEN cardinality(missing) = 0;
        INSERT INTO lineage.trial_claim (store, key, night)
            SELECT of_store, m.key, of_night FROM unnest(missing) AS m(key) ORDER BY m.key ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION lineage.renew_trial(of_store integer, of_key bigint, of_attempt bigint, old_worker text, new_worker text,
                                    lease double precision, new_about text)
    RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT lineage.demand(of_store, 'writer');
    WITH done AS (UPDATE lineage.trial_claim SET until = lineage.lease_end(lease), worker = new_worker,
                         about = coalesce(new_about, about)
                   WHERE store = of_store AND key = of_key AND attempt = of_attempt AND worker = old_worker
                     AND holder IN ('', session_user) RETURNING 1)
    SELECT EXISTS (SELECT FROM done);
$$;

CREATE OR REPLACE FUNCTION lineage.release_trial(of_store integer, of_key bigint, of_attempt bigint, of_worker text, done boolean,
                                      lapsed boolean)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM lineage.demand(of_store, 'writer');
    IF done THEN
        DELETE FROM lineage.trial_claim WHERE store = of_store AND key = of_key AND attempt = of_attempt
           AND worker = of_worker AND (until <= clock_timestamp() OR (NOT lapsed AND holder IN ('', session_user)));
    ELSE
        UPDATE lineage.trial_claim SET until = 'epoch' WHERE store = of_store AND key = of_key AND attempt = of_attempt
           AND worker = of_worker AND holder IN ('', session_user);
    END IF;
END $$;

-- ---- blobs ----
ALTER FUNCTION lineage.has_chunk(integer, bytea) RENAME TO has_chunk_any;
ALTER FUNCTION lineage.name_blob(integer, text, jsonb) RENAME TO name_blob_any;
CREATE FUNCTION lineage.has_chunk(of_store integer, of_digest bytea) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT lineage.demand(of_store, 'writer');
    SELECT lineage.has_chunk_any(of_store, of_digest);
$$;
CREATE OR REPLACE FUNCTION lineage.put_chunk(of_store integer, of_digest bytea, new_bytes bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT lineage.demand(of_store, 'writer');
    INSERT INTO lineage.chunk (store, digest, bytes) VALUES (of_store, of_digest, new_bytes)
        ON CONFLICT (store, digest) DO UPDATE SET used = clock_timestamp();
$$;
CREATE FUNCTION lineage.name_blob(of_store integer, of_name text, new_manifest jsonb) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT lineage.demand(of_store, 'writer');
    SELECT lineage.name_blob_any(of_store, of_name, new_manifest);
$$;
CREATE OR REPLACE FUNCTION lineage.clean_blobs(of_store integer, snapshots text[], days double precision,
                                    OUT n_blobs bigint, OUT n_bytes bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    yesterday timestamptz := clock_timestamp() - make_interval(days => 1);
BEGIN
    PERFORM lineage.demand(of_store, 'writer');
    WITH gone AS (DELETE FROM lineage.blob b WHERE b.store = of_store AND b.made < yesterday
                     AND CASE WHEN b.name LIKE 'snapshots/%' THEN b.name <> ALL (snapshots)
                              WHEN b.name LIKE 'lineage_code/%' THEN false
                              ELSE b.made < clock_timestamp() - make_interval(secs => days * 86400) END RETURNING 1)
    SELECT count(*) INTO n_blobs FROM gone;
    WITH gone AS (DELETE FROM lineage.chunk c WHERE c.store = of_store AND c.used < yesterday AND c.digest NOT IN (
                      SELECT d FROM lineage.blob b, lineage.chunks_of(b.manifest) AS d WHERE b.store = of_store)
                  RETURNING octet_length(c.bytes) AS bytes)
    SELECT coalesce(sum(bytes), 0) INTO n_bytes FROM gone;
END $$;

-- Nothing that is not granted may be called, whichever role could call it in an earlier version.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lineage FROM PUBLIC;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'lineage_writer') THEN
        REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lineage FROM lineage_writer;
    END IF;
END $$;
