-- queue_tell_dead: what is to be told of the dead letters of the JSON array :seqs.
SELECT HEX(m.id), m.topic, f.attempt, f.last_error
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s
STRAIGHT_JOIN {queue_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
STRAIGHT_JOIN {queue} AS m FORCE INDEX (PRIMARY) ON m.seq = f.seq
WHERE f.status = 3
ORDER BY m.seq
