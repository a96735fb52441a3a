-- outbox_next_due: in how many us the first ready message of the JSON array :topics may be tried, or null.
SELECT CAST(min((SELECT min(w.next_attempt_at) FROM {outbox_work} AS w WHERE w.status = 0 AND w.topic = t.value)) AS INTEGER) - :now
FROM json_each(:topics) AS t
