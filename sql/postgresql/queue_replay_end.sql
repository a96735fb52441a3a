-- queue_replay_end: those are not dead any more.
DELETE FROM {queue_finished} AS f
WHERE f.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq)))
  AND f.status = 3
  AND (EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.seq = f.seq)
       OR EXISTS (SELECT 1 FROM {queue} AS m WHERE m.seq = f.seq AND m.topic IS NULL))
RETURNING f.seq
