-- inbox_replay: make the dead letters of the JSON array :seqs ready again, with no attempts, one after the other in steps of :delay us from the :count-th on, and not before their due times.
-- A due time counts if it was in the future when the message arrived: the clock may have been set back since.
INSERT INTO {inbox_work} (seq, topic, status, at_once, next_attempt_at, attempt, claim_number, ordering_key, expires_at, last_error)
SELECT f.seq, m.topic, CASE WHEN m.ordering_key IS NULL THEN 0 ELSE 4 END, (s.key + :count) * :delay = 0 AND m.due_at <= m.last_seen_at,
       max(:now + (s.key + :count) * :delay, CASE WHEN m.due_at > m.last_seen_at THEN m.due_at ELSE 0 END),
       0, f.claim_number, m.ordering_key, CASE WHEN m.expires_at > :now THEN m.expires_at END, f.last_error
FROM json_each(:seqs) AS s CROSS JOIN {inbox_finished} AS f CROSS JOIN {inbox} AS m
WHERE f.seq = s.value AND f.status = 3 AND m.seq = f.seq AND m.topic IS NOT NULL
