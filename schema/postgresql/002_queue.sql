-- Who runs which trial of a night (include/lineage/queue.h). Claims are no part of the truth: rows come and go, and what
-- they say ends with a lease. All times are the server's, so that clocks of workers play no part.
CREATE TABLE lineage.trial_claim (
    store integer NOT NULL REFERENCES lineage.store,
    key bigint NOT NULL,                   -- of the trial, 64 bits with a sign
    night text NOT NULL,
    worker text NOT NULL DEFAULT '',       -- HOST:PID
    attempt bigint NOT NULL DEFAULT 0,     -- 0: offered, and nobody has had it yet
    until timestamptz NOT NULL DEFAULT 'epoch', -- the lease; past: it is free
    about text NOT NULL DEFAULT '',
    PRIMARY KEY (store, key)
) WITH (fillfactor = 50);

-- The first of the trials that is free and that no other worker is just taking, in the order in which they are given:
-- those that another gave up first, then new ones, of which some are offered at a time so that workers that ask at the
-- same moment find different ones. In the order of their keys: two that offer the same wait for each other in one order.
-- at_most: who counts the claims of a night does so alone. which is the place of the trial among the keys, from 1; no row:
-- there is none.
CREATE FUNCTION lineage.claim_trial(of_store integer, of_night text, keys bigint[], of_worker text, lease double precision,
                                    at_most bigint)
    RETURNS TABLE (which bigint, of_attempt bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    taken record;
BEGIN
    IF at_most > 0 THEN
        PERFORM pg_advisory_xact_lock(hashtextextended('lineage night ' || of_night, of_store));
        IF (SELECT count(*) FROM lineage.trial_claim c WHERE c.store = of_store AND c.night = of_night
               AND c.until > clock_timestamp()) >= at_most THEN
            RETURN;
        END IF;
    END IF;
    FOR round IN 1..2 LOOP
        SELECT k.place, c.key INTO taken
          FROM unnest(keys) WITH ORDINALITY AS k(key, place) JOIN lineage.trial_claim c ON c.store = of_store AND c.key = k.key
         WHERE c.until <= clock_timestamp() ORDER BY k.place LIMIT 1 FOR UPDATE OF c SKIP LOCKED;
        IF FOUND THEN
            which := taken.place;
            UPDATE lineage.trial_claim c SET night = of_night, worker = of_worker, attempt = c.attempt + 1, about = '',
                   until = clock_timestamp() + make_interval(secs => lease)
             WHERE c.store = of_store AND c.key = taken.key RETURNING c.attempt INTO of_attempt;
            RETURN NEXT;
            RETURN;
        END IF;
        INSERT INTO lineage.trial_claim (store, key, night)
            SELECT of_store, n.key, of_night FROM (
                SELECT k.key FROM unnest(keys) WITH ORDINALITY AS k(key, place)
                 WHERE NOT EXISTS (SELECT FROM lineage.trial_claim c WHERE c.store = of_store AND c.key = k.key)
                 ORDER BY k.place LIMIT 64) AS n
            ORDER BY n.key ON CONFLICT DO NOTHING;
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
