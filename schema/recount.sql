-- Makes the sums again to which a trial of void_changes belongs, without row ?1.
DELETE FROM label_counts WHERE specialist IN
    (SELECT specialist FROM trials WHERE seq IN (SELECT seq FROM void_changes));
DELETE FROM calibration WHERE specialist IN
    (SELECT specialist FROM trials WHERE seq IN (SELECT seq FROM void_changes));
INSERT INTO label_counts SELECT specialist, status, count(*) FROM trials
    WHERE specialist IN
    (SELECT specialist FROM trials WHERE seq IN (SELECT seq FROM void_changes)) AND seq <> ?1 GROUP BY specialist, status;
INSERT INTO calibration
    SELECT specialist, 1, (expected > 0 AND delta_vs_best > 0) OR (expected < 0 AND delta_vs_best < 0), expected, delta_vs_best,
        abs(expected - delta_vs_best)
    FROM trials WHERE specialist IN
    (SELECT specialist FROM trials WHERE seq IN (SELECT seq FROM void_changes)) AND seq <> ?1 AND +status IN ('keep', 'discard')
        AND abs(expected) < 9e999 AND abs(delta_vs_best) < 9e999
    ORDER BY seq
    ON CONFLICT DO UPDATE SET n = n + 1, same_sign = same_sign + excluded.same_sign,
        expected_sum = expected_sum + excluded.expected_sum, actual_sum = actual_sum + excluded.actual_sum,
        error_sum = error_sum + excluded.error_sum;
DELETE FROM param_values WHERE (key, value) IN
    (SELECT key, value FROM param_rows WHERE seq IN (SELECT seq FROM void_changes));
INSERT INTO param_values SELECT p.key, p.value, t.status, count(*),
    min(CASE WHEN t.score > -9e999 AND t.score < 9e999 THEN t.score END),
    max(CASE WHEN t.score > -9e999 AND t.score < 9e999 THEN t.score END)
    FROM (SELECT DISTINCT key, value FROM param_rows WHERE seq IN (SELECT seq FROM void_changes)) d
    CROSS JOIN param_rows p ON p.key = d.key AND p.value = d.value AND p.seq <> ?1 CROSS JOIN trials t ON t.seq = p.seq
    GROUP BY p.key, p.value, t.status;
