-- queue_replay_note: note the replay of those that are ready again, or only seen.
INSERT INTO {queue_replayed} (seq, replayed_at, replayed_by, attempt, finished_at, last_error)
SELECT f.seq, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))), :worker, f.attempt, f.finished_at, f.last_error
FROM JSON_TABLE(:seqs, '$[*]' COLUMNS (seq BIGINT PATH '$')) AS s STRAIGHT_JOIN {queue_finished} AS f FORCE INDEX (PRIMARY) ON f.seq = s.seq
WHERE f.status = 3
  AND (EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.seq = f.seq)
       OR EXISTS (SELECT 1 FROM {queue} AS m WHERE m.seq = f.seq AND m.topic IS NULL))
