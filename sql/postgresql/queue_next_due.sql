-- queue_next_due: in how many us the first message of the JSON array :topics may be tried, or null.
-- Where there are more than 1,000 ordering keys it may be now; a claim finds out.
WITH RECURSIVE t AS (
    SELECT j.topic FROM json_array_elements_text(CAST(CAST(:topics AS text) AS json)) AS j (topic)
)
SELECT least(
           (SELECT min(c.next_attempt_at)
            FROM t CROSS JOIN LATERAL (
                SELECT w.next_attempt_at FROM {queue_work} AS w
                WHERE w.status = 0 AND w.ordering_key IS NULL AND w.topic = t.topic
                  AND w.next_attempt_at >= CAST(:since AS bigint)
                ORDER BY w.next_attempt_at, w.seq
                LIMIT 1) AS c),
           (SELECT CASE WHEN count(*) = 1000 THEN 0
                        ELSE min(h.next_attempt_at) FILTER (WHERE h.topic IN (SELECT t.topic FROM t)) END
            FROM (SELECT i.topic, i.next_attempt_at FROM {queue_heads} AS i LIMIT 1000) AS h))
       - coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
