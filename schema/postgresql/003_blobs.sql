-- Files that trials start from, for workers on other machines: snapshots of kept trials and checkpoints of nights. Bytes
-- are stored once, in pieces of at most 1 MiB named by their SHA-256. A blob is a list of pieces, named by the path that
-- the file or directory has in a store's directory. Not part of the log: `lineage sync --clean` removes unused blobs.
CREATE TABLE lineage.chunk (
    store integer NOT NULL, -- not a foreign key, as for claims
    digest bytea NOT NULL,
    bytes bytea NOT NULL,
    used timestamptz NOT NULL DEFAULT clock_timestamp(), -- last uploaded, or found to exist instead of being uploaded
    PRIMARY KEY (store, digest),
    CHECK (digest = sha256(bytes))
);
ALTER TABLE lineage.chunk ALTER bytes SET STORAGE EXTERNAL; -- weights do not compress

CREATE TABLE lineage.blob (
    store integer NOT NULL,
    name text NOT NULL CHECK (name ~ '^(snapshots|checkpoints)/[^/]+$'),
    manifest jsonb NOT NULL,
    made timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (store, name)
);

-- Whether the piece exists; if so, it stays for at least another day.
CREATE FUNCTION lineage.has_chunk(of_store integer, of_digest bytea) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH there AS (UPDATE lineage.chunk SET used = clock_timestamp() WHERE store = of_store AND digest = of_digest RETURNING 1)
    SELECT EXISTS (SELECT FROM there);
$$;

CREATE FUNCTION lineage.put_chunk(of_store integer, of_digest bytea, new_bytes bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO lineage.chunk (store, digest, bytes) VALUES (of_store, of_digest, new_bytes)
        ON CONFLICT (store, digest) DO UPDATE SET used = clock_timestamp();
$$;

-- The digests in a manifest, each once.
CREATE FUNCTION lineage.chunks_of(manifest jsonb) RETURNS SETOF bytea
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT DISTINCT decode(d #>> '{}', 'hex') FROM jsonb_path_query(manifest, '$[*].chunks[*]') AS d;
$$;

-- Names a blob, if all its pieces exist. The newest blob with a name counts.
CREATE FUNCTION lineage.name_blob(of_store integer, of_name text, new_manifest jsonb) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM lineage.chunks_of(new_manifest) AS d
                WHERE NOT EXISTS (SELECT FROM lineage.chunk c WHERE c.store = of_store AND c.digest = d)) THEN
        RETURN false;
    END IF;
    INSERT INTO lineage.blob (store, name, manifest) VALUES (of_store, of_name, new_manifest)
        ON CONFLICT (store, name) DO UPDATE SET manifest = new_manifest, made = clock_timestamp();
    RETURN true;
END $$;

-- Removes what is not needed. A snapshot stays while a row names it (`snapshots` lists those), a checkpoint for `days`
-- days after it was made, a piece while a blob has it; and everything stays for a day, because its row may be on the way.
CREATE FUNCTION lineage.clean_blobs(of_store integer, snapshots text[], days double precision,
                                    OUT n_blobs bigint, OUT n_bytes bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    yesterday timestamptz := clock_timestamp() - make_interval(days => 1);
BEGIN
    WITH gone AS (DELETE FROM lineage.blob b WHERE b.store = of_store AND b.made < yesterday
                     AND CASE WHEN b.name LIKE 'snapshots/%' THEN b.name <> ALL (snapshots)
                              ELSE b.made < clock_timestamp() - make_interval(secs => days * 86400) END RETURNING 1)
    SELECT count(*) INTO n_blobs FROM gone;
    WITH gone AS (DELETE FROM lineage.chunk c WHERE c.store = of_store AND c.used < yesterday AND c.digest NOT IN (
                      SELECT d FROM lineage.blob b, lineage.chunks_of(b.manifest) AS d WHERE b.store = of_store)
                  RETURNING octet_length(c.bytes) AS bytes)
    SELECT coalesce(sum(bytes), 0) INTO n_bytes FROM gone;
END $$;

REVOKE ALL ON FUNCTION lineage.has_chunk, lineage.put_chunk, lineage.chunks_of, lineage.name_blob, lineage.clean_blobs FROM PUBLIC;
