-- queue_tell_dead: what is to be told of the dead letters of the JSON array :seqs.
SELECT m.id, m.topic, f.attempt, f.last_error
FROM json_each(:seqs) AS s CROSS JOIN {queue_finished} AS f CROSS JOIN {queue} AS m
WHERE f.seq = s.value AND f.status = 3 AND m.seq = f.seq
