-- Removes everything that came from row ?1, of a last record without a line end, which is read again. Its sums are made again before.
DELETE FROM param_rows WHERE seq = ?1;
DELETE FROM turn_stats WHERE seq = ?1;
DELETE FROM step_metrics WHERE seq = ?1;
DELETE FROM extras WHERE seq = ?1;
DELETE FROM metric_rows WHERE seq = ?1;
DELETE FROM night_rows WHERE seq = ?1;
DELETE FROM ancestors WHERE seq = ?1;
DELETE FROM again_rows WHERE seq = ?1;
DELETE FROM readings WHERE seq = ?1;
DELETE FROM change_rows WHERE seq = ?1;
DELETE FROM citation_rows WHERE seq = ?1;
DELETE FROM trials WHERE seq = ?1;
