-- queue_replay_note: note the replay of those that are ready again, or only seen.
INSERT INTO {queue_replayed} (seq, replayed_at, replayed_by, attempt, finished_at, last_error)
SELECT f.seq, coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)),
       CAST(:worker AS text), f.attempt, f.finished_at, f.last_error
FROM {queue_finished} AS f
WHERE f.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq)))
  AND f.status = 3
  AND (EXISTS (SELECT 1 FROM {queue_work} AS w WHERE w.seq = f.seq)
       OR EXISTS (SELECT 1 FROM {queue} AS m WHERE m.seq = f.seq AND m.topic IS NULL))
