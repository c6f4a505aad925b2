-- Nights write their number of trials to a key of their own, so that the owner's stays. The function keeps its text except for the two
-- lists.
DO $$
DECLARE
    made text := pg_get_functiondef('lineage.settings_fault(text)'::regprocedure);
BEGIN
    made := replace(made, $q$'harmless_names', 'score']$q$, $q$'harmless_names', 'score', 'newest_night']$q$);
    made := replace(made, $q$'noise_runs', 'night_trials')$q$, $q$'noise_runs', 'night_trials', 'newest_night')$q$);
    EXECUTE made;
END $$;
