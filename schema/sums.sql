-- Adds the rows with ?1 < seq <= ?2 to the sums, three statements.
INSERT INTO label_counts(specialist, status, n)
    SELECT specialist, status, count(*) FROM trials WHERE seq > ?1 AND seq <= ?2 GROUP BY specialist, status
    ON CONFLICT DO UPDATE SET n = n + excluded.n;

INSERT INTO param_values(key, value, status, n, low, high)
    SELECT p.key, p.value, t.status, count(*),
           min(CASE WHEN abs(t.score) < 9e999 THEN t.score END),
           max(CASE WHEN abs(t.score) < 9e999 THEN t.score END)
    FROM params p JOIN trials t ON t.seq = p.seq WHERE p.seq > ?1 AND p.seq <= ?2
    GROUP BY p.key, p.value, t.status
    ON CONFLICT DO UPDATE SET n = n + excluded.n,
        low = CASE WHEN low IS NULL OR excluded.low < low THEN coalesce(excluded.low, low) ELSE low END,
        high = CASE WHEN high IS NULL OR excluded.high > high THEN coalesce(excluded.high, high) ELSE high END;

INSERT INTO calibration(specialist, n, same_sign, expected_sum, actual_sum, error_sum)
    SELECT specialist, count(*), sum(expected * delta_vs_best > 0), sum(expected), sum(delta_vs_best),
           sum(abs(expected - delta_vs_best))
    FROM trials
    WHERE seq > ?1 AND seq <= ?2 AND status IN ('keep', 'discard')
      AND abs(expected) < 9e999 AND abs(delta_vs_best) < 9e999
    GROUP BY specialist
    ON CONFLICT DO UPDATE SET n = n + excluded.n, same_sign = same_sign + excluded.same_sign,
        expected_sum = expected_sum + excluded.expected_sum, actual_sum = actual_sum + excluded.actual_sum,
        error_sum = error_sum + excluded.error_sum;
