-- Who runs which trial of a night (include/lineage/queue.h). Claims are no part of the truth: rows come and go, and what
-- they say ends with a lease. All times are the server's, so that clocks of workers play no part.
CREATE TABLE lineage.trial_claim (
    store integer NOT NULL, -- no reference: checking it would wait for whoever appends a row
    key bigint NOT NULL,                   -- of the trial, 64 bits with a sign
    night text NOT NULL,
    worker text NOT NULL DEFAULT '',       -- HOST:PID
    attempt bigint NOT NULL DEFAULT 0,     -- 0: offered, and nobody has had it yet
    until timestamptz NOT NULL DEFAULT 'epoch', -- the lease; past: it is free
    about text NOT NULL DEFAULT '',
    PRIMARY KEY (store, key)
) WITH (fillfactor = 50);

-- The first of the trials that is free and that no other worker is just taking, in the order in which they are given. Of
-- those that nobody had yet some are offered at a time, so that workers that ask at the same moment find different ones; in
-- the order of their keys, so that two that offer the same wait for each other in one order. Key by key, through the index:
-- no plan is made for all of them that would depend on what was counted last. at_most: who counts the claims of a night does
-- so alone. which is the place of the trial among the keys, from 1; no row: there is none.
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

-- The lease from now on, for whoever still has the trial at that attempt.
CREATE FUNCTION lineage.renew_trial(of_store integer, of_key bigint, of_attempt bigint, old_worker text, new_worker text,
                                    lease double precision, new_about text)
    RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH done AS (UPDATE lineage.trial_claim SET until = clock_timestamp() + make_interval(secs => lease),
                         worker = new_worker, about = coalesce(new_about, about)
                   WHERE store = of_store AND key = of_key AND attempt = of_attempt AND worker = old_worker RETURNING 1)
    SELECT EXISTS (SELECT FROM done);
$$;

-- Done, or free again. Of a claim that is not the caller's (`lapsed`) only when its lease has ended.
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
