-- inbox_copy_recall: those of :seqs again, as inbox_copy_memory gives them.
SELECT m.seq, CAST(m.id AS text), CAST(2 AS bigint), f.attempt, f.claim_number, f.finished_at, CAST(NULL AS bigint), f.last_error,
       f.finished_at, f.finished_by, CAST(NULL AS text), CAST(NULL AS text), CAST(NULL AS text), m.correlation_id, m.ordering_key,
       m.created_at, m.due_at, m.expires_at, m.source, m.message_id, m.consumer, m.hash, m.hash_algorithm, m.last_seen_at
FROM {inbox_finished} AS f JOIN {inbox} AS m ON m.seq = f.seq
WHERE f.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq)))
ORDER BY m.seq
