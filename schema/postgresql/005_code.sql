-- The code of trials, which travels like snapshots: `lineage_code/DIGEST`, a file, a diff or a list of both (lineage/code.h).
ALTER TABLE lineage.blob DROP CONSTRAINT blob_name_check;
ALTER TABLE lineage.blob ADD CONSTRAINT blob_name_check CHECK (name ~ '^(snapshots|checkpoints|lineage_code)/[^/]+$');

-- As before, but code stays for ever: rows name it by digest, rows are never removed, and it is small.
CREATE OR REPLACE FUNCTION lineage.clean_blobs(of_store integer, snapshots text[], days double precision,
                                    OUT n_blobs bigint, OUT n_bytes bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    yesterday timestamptz := clock_timestamp() - make_interval(days => 1);
BEGIN
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
