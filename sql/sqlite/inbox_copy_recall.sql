-- inbox_copy_recall: those of :seqs again, as inbox_copy_memory gives them.
SELECT m.seq, m.id, 2, f.attempt, f.claim_number, f.finished_at, NULL, f.last_error,
       f.finished_at, f.finished_by, NULL, NULL, NULL, m.correlation_id, m.ordering_key,
       m.created_at, m.due_at, m.expires_at, m.source, m.message_id, m.consumer, m.hash, m.hash_algorithm, m.last_seen_at
FROM json_each(:seqs) AS s CROSS JOIN {inbox_finished} AS f CROSS JOIN {inbox} AS m
WHERE f.seq = s.value AND m.seq = s.value
ORDER BY m.seq
