-- Adds the rows from ?1 on to the sums of their specialists, in the order of the log, so that the last digit of a sum does not depend
-- on how the log was divided among syncs.
INSERT INTO label_counts SELECT specialist, status, 1 FROM trials WHERE seq >= ?1 ORDER BY seq
    ON CONFLICT DO UPDATE SET n = n + 1;
INSERT INTO calibration
    SELECT specialist, 1, (expected > 0 AND delta_vs_best > 0) OR (expected < 0 AND delta_vs_best < 0), expected, delta_vs_best,
        abs(expected - delta_vs_best)
    FROM trials WHERE seq >= ?1 AND +status IN ('keep', 'discard') AND abs(expected) < 9e999 AND abs(delta_vs_best) < 9e999
    ORDER BY seq
    ON CONFLICT DO UPDATE SET n = n + 1, same_sign = same_sign + excluded.same_sign,
        expected_sum = expected_sum + excluded.expected_sum, actual_sum = actual_sum + excluded.actual_sum,
        error_sum = error_sum + excluded.error_sum;
