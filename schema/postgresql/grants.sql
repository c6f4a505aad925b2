-- Run by every `lineage init`: lineage_reader may read, lineage_writer may also append. Give a login one of them with
-- GRANT lineage_writer TO alice. A user who may not create roles asks an administrator to create them, and runs init again.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['lineage_reader', 'lineage_writer'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role);
            EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
                NULL; -- not allowed, or another init was faster
            END;
        END IF;
    END LOOP;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'lineage_reader') THEN
        GRANT USAGE ON SCHEMA lineage TO lineage_reader;
        GRANT SELECT ON lineage.version, lineage.store, lineage.record, lineage.aside, lineage.trial_claim, lineage.blob,
            lineage.chunk, lineage.member, lineage.setting, lineage.gap TO lineage_reader;
        GRANT EXECUTE ON FUNCTION lineage.flush(), lineage.is_copied(), lineage.may, lineage.readable, lineage.let, lineage.let_all
            TO lineage_reader;
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'lineage_writer') THEN
        GRANT USAGE ON SCHEMA lineage TO lineage_writer;
        GRANT SELECT ON lineage.version, lineage.store, lineage.record, lineage.aside, lineage.trial_claim, lineage.blob,
            lineage.chunk, lineage.member, lineage.setting, lineage.gap TO lineage_writer;
        GRANT EXECUTE ON FUNCTION lineage.flush(), lineage.is_copied(), lineage.may, lineage.readable, lineage.let, lineage.let_all,
            lineage.claim(integer, uuid, bigint),
            lineage.append, lineage.append_next, lineage.skip_ids, lineage.history,
            lineage.mend(integer, bigint, bigint), lineage.set_settings(integer, text, text),
            lineage.claim_trial, lineage.renew_trial, lineage.release_trial,
            lineage.has_chunk, lineage.put_chunk, lineage.name_blob, lineage.clean_blobs TO lineage_writer;
    END IF;
END $$;
