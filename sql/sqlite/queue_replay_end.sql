-- queue_replay_end: those are not dead any more.
DELETE FROM {queue_finished} AS f
WHERE f.seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND f.status = 3
  AND (EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.seq = f.seq)
       OR EXISTS (SELECT 1 FROM {queue} AS m WHERE m.seq = f.seq AND m.topic IS NULL))
RETURNING +seq
