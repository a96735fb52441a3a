-- queue_next_due: in how many us the first message of the JSON array :topics may be tried, or null. Where there are more than 1,000 ordering keys it may be now; a claim finds out.
SELECT COALESCE(LEAST(a.due, b.due), a.due, b.due) - COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6)))
FROM (
    SELECT MIN((SELECT MIN(w.next_attempt_at) FROM {queue_work} AS w
                WHERE w.topic = t.topic AND w.status = 0 AND w.next_attempt_at >= :since)) AS due
    FROM JSON_TABLE(:topics, '$[*]' COLUMNS (place FOR ORDINALITY, topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS t) AS a
CROSS JOIN (
    SELECT CASE WHEN COUNT(*) = 1000 THEN 0
                ELSE MIN(CASE WHEN h.topic IN (SELECT t.topic FROM JSON_TABLE(:topics, '$[*]' COLUMNS (place FOR ORDINALITY, topic VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin PATH '$')) AS t) THEN h.next_attempt_at END) END AS due
    FROM (SELECT i.topic, i.next_attempt_at FROM {queue_heads} AS i LIMIT 1000) AS h) AS b
