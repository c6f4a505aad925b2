-- Removes everything that came from row ?1, of a last record without a line end, which is read again.
DELETE FROM label_counts WHERE specialist = (SELECT specialist FROM trials WHERE seq = ?1);
INSERT INTO label_counts SELECT * FROM label_counts_before;
DELETE FROM label_counts_before;
DELETE FROM calibration WHERE specialist = (SELECT specialist FROM trials WHERE seq = ?1);
INSERT INTO calibration SELECT * FROM calibration_before;
DELETE FROM calibration_before;
DELETE FROM param_values WHERE (key, value) IN (SELECT key, value FROM param_rows WHERE seq = ?1);
INSERT INTO param_values SELECT * FROM param_values_before;
DELETE FROM param_values_before;
DELETE FROM param_rows WHERE seq = ?1;
DELETE FROM turn_stats WHERE seq = ?1;
DELETE FROM step_metrics WHERE seq = ?1;
DELETE FROM extras WHERE seq = ?1;
DELETE FROM night_rows WHERE seq = ?1;
DELETE FROM readings WHERE seq = ?1;
DELETE FROM change_rows WHERE seq = ?1;
DELETE FROM citation_rows WHERE seq = ?1;
DELETE FROM trials WHERE seq = ?1;
