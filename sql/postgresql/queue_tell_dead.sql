-- queue_tell_dead: what is to be told of the dead letters of the JSON array :seqs.
SELECT CAST(m.id AS text), m.topic, f.attempt, f.last_error
FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq)
JOIN {queue_finished} AS f ON f.seq = CAST(s.seq AS bigint) AND f.status = 3
JOIN {queue} AS m ON m.seq = f.seq
ORDER BY m.seq
