-- queue_replay_note: note the replay of those that are ready again, or only seen.
INSERT INTO {queue_replayed} (seq, replayed_at, replayed_by, attempt, finished_at, last_error)
SELECT f.seq, :now, :worker, f.attempt, f.finished_at, f.last_error
FROM json_each(:seqs) AS s CROSS JOIN {queue_finished} AS f
WHERE f.seq = s.value AND f.status = 3
  AND (EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.seq = f.seq)
       OR EXISTS (SELECT 1 FROM {queue} AS m WHERE m.seq = f.seq AND m.topic IS NULL))
