-- queue_replay: make the dead letters of the JSON array :seqs ready again, with no attempts, one after the other in steps of :delay us from the :count-th on. One whose unique key is taken stays dead.
INSERT INTO {queue_work} (seq, topic, status, next_attempt_at, attempt, claim_number, ordering_key, unique_key, expires_at, last_error)
SELECT f.seq, m.topic, CASE WHEN m.ordering_key IS NULL THEN 0 ELSE 4 END, n.now + (s.place - 1 + :count) * :delay, 0, f.claim_number, m.ordering_key, m.unique_key,
       CASE WHEN m.expires_at > n.now THEN m.expires_at END, f.last_error
FROM (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n
STRAIGHT_JOIN JSON_TABLE(:seqs, '$[*]' COLUMNS (place FOR ORDINALITY, seq BIGINT PATH '$')) AS s
STRAIGHT_JOIN {queue_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = s.seq
WHERE f.status = 3 AND m.topic IS NOT NULL
ON DUPLICATE KEY UPDATE seq = {queue_work}.seq
