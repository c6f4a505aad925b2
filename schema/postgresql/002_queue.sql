-- Which worker runs which trial of a night (include/lineage/queue.h). Claims are not part of the log: rows come and go,
-- and each is valid until its lease ends. All times are the server's, so that the clocks of workers do not matter.
CREATE TABLE lineage.trial_claim (
    store integer NOT NULL, -- not a foreign key: checking it would wait for a writer that appends
    key bigint NOT NULL,                   -- key of the trial, 64 bits, signed
    night text NOT NULL,
    worker text NOT NULL DEFAULT '',       -- HOST:PID
    attempt bigint NOT NULL DEFAULT 0,     -- 0: offered, but never claimed
    until timestamptz NOT NULL DEFAULT 'epoch', -- end of the lease; in the past: free
    about text NOT NULL DEFAULT '',
    PRIMARY KEY (store, key)
) WITH (fillfactor = 50);

-- Claims the first trial, in the given order, that is free and that no other worker is just taking. Some trials that were
-- never claimed are offered at a time, so that workers that ask at the same moment find different ones. They are offered
-- in the order of their keys, so that two workers that offer the same ones lock them in the same order. Key by key through
-- the index, so that no plan depends on old statistics. With at_most, one worker at a time counts the claims of a night.
-- `which` is the position of the trial among the keys, from 1; without a free trial no row is returned.
CREATE FUNCTION lineage.claim_trial(of_store integer, of_night text, keys bigint[], of_worker text, lease double precision,
                                    at_most bigint)
    RETURNS TABLE (which bigint, of_attempt bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    missing bigint[] := '{}';
BEGIN
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
                       until = clock_timestamp() + make_interval(secs => lease)
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

-- Renews the lease, if the worker still has the trial at that attempt.
CREATE FUNCTION lineage.renew_trial(of_store integer, of_key bigint, of_attempt bigint, old_worker text, new_worker text,
                                    lease double precision, new_about text)
    RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH done AS (UPDATE lineage.trial_claim SET until = clock_timestamp() + make_interval(secs => lease),
                         worker = new_worker, about = coalesce(new_about, about)
                   WHERE store = of_store AND key = of_key AND attempt = of_attempt AND worker = old_worker RETURNING 1)
    SELECT EXISTS (SELECT FROM done);
$$;

-- Ends a claim: the trial is done, or free again. A claim of another worker (`lapsed`) only after its lease has ended.
CREATE FUNCTION lineage.release_trial(of_store integer, of_key bigint, of_attempt bigint, of_worker text, done boolean,
                                      lapsed boolean)
    RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF done THEN
        DELETE FROM lineage.trial_claim WHERE store = of_store AND key = of_key AND attempt = of_attempt
           AND worker = of_worker AND (NOT lapsed OR until <= clock_timestamp());
    ELSE
        UPDATE lineage.trial_claim SET until = 'epoch' WHERE store = of_store AND key = of_key AND attempt = of_attempt
           AND worker = of_worker;
    END IF;
END $$;

REVOKE ALL ON FUNCTION lineage.claim_trial, lineage.renew_trial, lineage.release_trial FROM PUBLIC;
