-- copy_join_messages: the unfinished members, not counted yet, of the open joins :seqs; their states.
SELECT DISTINCT w.seq, CAST(w.status AS bigint)
FROM {join} AS j JOIN {join_member} AS k ON k.join_seq = j.seq JOIN {outbox_work} AS w ON w.seq = k.seq
WHERE j.seq = ANY (ARRAY(SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq))) AND j.status = 0 AND k.status = 0
