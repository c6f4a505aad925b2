-- Copies the sums that row ?1, of a last record without a line end, is going to change.
INSERT INTO label_counts_before
    SELECT * FROM label_counts WHERE specialist = (SELECT specialist FROM trials WHERE seq = ?1);
INSERT INTO calibration_before
    SELECT * FROM calibration WHERE specialist = (SELECT specialist FROM trials WHERE seq = ?1);
INSERT INTO param_values_before
    SELECT v.* FROM param_rows p JOIN param_values v ON v.key = p.key AND v.value = p.value WHERE p.seq = ?1;
