-- The settings may name parameters that are the seed of a run (include/lineage/store.h, lineage_store_seeds). The function keeps its text
-- except for the list.
DO $$
DECLARE
    made text := pg_get_functiondef('lineage.settings_fault(text)'::regprocedure);
BEGIN
    made := replace(made, $q$'score', 'newest_night']$q$, $q$'score', 'newest_night', 'seeds']$q$);
    EXECUTE made;
END $$;
