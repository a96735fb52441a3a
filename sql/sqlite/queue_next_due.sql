-- queue_next_due: in how many us the first ready message of the JSON array :topics may be tried, or null.
SELECT CAST(min(coalesce(
    (SELECT :now FROM {queue_work} AS w WHERE w.status = 0 AND w.topic = t.value AND w.at_once = 1 LIMIT 1),
    (SELECT min(w.next_attempt_at) FROM {queue_work} AS w WHERE w.status = 0 AND w.topic = t.value AND w.at_once = 0)
)) AS INTEGER) - :now
FROM json_each(:topics) AS t
