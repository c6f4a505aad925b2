-- A worker of a list or grid needs few rows of a long log: those that may be the best trial, those that void a trial, and those of
-- its own night. These indexes find them, so that a worker does not read the others (lineage.history at the end). Workers of
-- versions before 0.2.0 ask for them; later ones read all rows.
--
-- The server does not take records apart. The functions look for bytes that such a row must have, so they may find rows that
-- the worker does not need, but they miss none. They contain no backslash, so that they mean the same under every setting of a session. decode(..., 'hex') is a constant: 09 is a tab, 22 is ".

-- Whether the record may be kept (keep, baseline), may void a trial or take that back, or names a snapshot. Also true for a record whose cells are
-- quoted in an unusual way, so that another reading of it is possible, and for one with two keys of nights.
CREATE FUNCTION lineage.matters(record bytea) RETURNS boolean LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp AS $$
    SELECT position(decode('096b656570', 'hex') IN record) > 0               -- a cell that begins with keep
        OR position(decode('09626173656c696e65', 'hex') IN record) > 0       -- baseline
        OR position(decode('09226b656570', 'hex') IN record) > 0             -- "keep
        OR position(decode('0922626173656c696e65', 'hex') IN record) > 0     -- "baseline
        OR position(decode('6c696e656167652d766f6964', 'hex') IN record) > 0     -- lineage-void
        OR position(decode('6c696e656167652d756e766f6964', 'hex') IN record) > 0 -- lineage-unvoid
        OR position(decode('09736e617073686f74732f', 'hex') IN record) > 0   -- snapshots/
        OR position(decode('0922736e617073686f74732f', 'hex') IN record) > 0 -- "snapshots/
        OR substr(record, 1, 1) = decode('22', 'hex')
        OR (position(decode('0922', 'hex') IN record) > 0
            AND encode(record, 'escape') !~ ('^[^"' || chr(9) || '][^' || chr(9) || ']*(?:' || chr(9) || '(?:[^"' || chr(9) || '][^'
                || chr(9) || ']*|"(?:[^"' || chr(9) || ']|"")*"' || chr(13) || '?' || chr(10) || '?)?)*$'))
        OR (position(decode('2c206b657920', 'hex') IN record) > 0            -- , key
            AND encode(record, 'escape') ~ ', key [0-9a-f]{16}.*, key [0-9a-f]{16}')
$$;

-- The key in the piece of notes that links the record to a trial of a night (include/lineage/notes.h); NULL without one. A record
-- with two keys matters anyway.
CREATE FUNCTION lineage.night_key(record bytea) RETURNS bigint LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN position(decode('2c206b657920', 'hex') IN record) > 0
                THEN ('x' || substring(encode(record, 'escape') FROM ', key ([0-9a-f]{16})'))::bit(64)::bigint END
$$;

-- Equal for records whose ids name the same trial (014 and exp_014), and perhaps for others.
CREATE FUNCTION lineage.id_key(record bytea) RETURNS text LANGUAGE sql IMMUTABLE
    SET search_path = pg_catalog, pg_temp AS $$
    SELECT regexp_replace(replace(split_part(encode(substr(record, 1, 200), 'escape'), chr(9), 1), '"', ''), '^(exp_)+', '')
$$;

CREATE INDEX record_matters ON lineage.record (store, seq) WHERE lineage.matters(bytes);
CREATE INDEX record_night ON lineage.record (lineage.night_key(bytes)) WHERE lineage.night_key(bytes) IS NOT NULL;
CREATE INDEX record_id ON lineage.record (store, lineage.id_key(bytes));

-- Whether each record of the store is one record of results.tsv, so that it can be read without those before it. Appends have checked
-- that since version 6. Line ends that replace an open end may stand alone.
ALTER TABLE lineage.store ADD apart boolean NOT NULL DEFAULT true;
UPDATE lineage.store s SET apart = false
 WHERE EXISTS (SELECT FROM lineage.record r WHERE r.store = s.id AND lineage.is_record(r.bytes) IS NOT TRUE);

-- Whether no other record of the store has the id of record `of_seq`.
CREATE FUNCTION lineage.is_alone(of_store integer, of_seq bigint, record bytea) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN NOT EXISTS (SELECT FROM lineage.record o WHERE o.store = of_store AND lineage.id_key(o.bytes) = lineage.id_key(record)
                          AND o.seq <> of_seq);
END $$;

-- What a worker needs of the records up to `upto`: the header, the records that matter, those of the given trials of nights, and
-- the last one, behind which the worker reads everything. At most `most` records behind record `after`, in their order. `alone` is
-- whether no other record of the store has the same id; for the header, whether that holds for all records behind `upto`. next_id and id_width are those of the whole log. No record is returned
-- if some record of the store cannot be read without those before it.
CREATE FUNCTION lineage.history(of_store integer, keys bigint[], after bigint, upto bigint, most integer)
    RETURNS TABLE (seq bigint, at_position bigint, bytes bytea, alone boolean, next_id bigint, id_width integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    PERFORM lineage.demand(of_store, 'reader');
    RETURN QUERY
        WITH chosen AS (
            (SELECT r.seq FROM lineage.record r
              WHERE r.store = of_store AND lineage.matters(r.bytes) AND r.seq > after AND r.seq <= upto ORDER BY r.seq LIMIT most)
            UNION
            -- + 0 leaves the key as the only condition for an index, so that no plan depends on old statistics.
            (SELECT r.seq FROM unnest(keys) AS k(key) JOIN lineage.record r ON lineage.night_key(r.bytes) = k.key
              WHERE r.store + 0 = of_store AND r.seq + 0 > after AND r.seq + 0 <= upto ORDER BY r.seq LIMIT most)
            UNION
            SELECT e.seq FROM (VALUES (1::bigint), (upto)) AS e(seq) WHERE e.seq > after AND e.seq <= upto
        )
        SELECT r.seq, r.position, r.bytes,
               CASE WHEN r.seq > 1 THEN lineage.is_alone(of_store, r.seq, r.bytes)
                    ELSE NOT EXISTS (SELECT FROM lineage.record n WHERE n.store = of_store AND n.seq > upto
                                        AND NOT lineage.is_alone(of_store, n.seq, n.bytes)) END,
               s.top_id + 1, s.top_width
          FROM (SELECT c.seq FROM chosen c ORDER BY c.seq LIMIT most) c
          JOIN lineage.record r ON r.store = of_store AND r.seq = c.seq
          JOIN lineage.store s ON s.id = of_store AND s.apart
         ORDER BY r.seq;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA lineage FROM PUBLIC;
