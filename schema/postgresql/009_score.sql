-- The settings may name the score (include/lineage/store.h, lineage_store_name_score). The function keeps its text of version 6
-- except for the two lists.
DO $$
DECLARE
    made text := pg_get_functiondef('lineage.settings_fault(text)'::regprocedure);
BEGIN
    made := replace(made, $q$'secret_files', 'harmless_names']$q$, $q$'secret_files', 'harmless_names', 'score']$q$);
    made := replace(made, $q$('metric', 'metric_label', 'second')$q$, $q$('metric', 'metric_label', 'second', 'score')$q$);
    EXECUTE made;
END $$;
