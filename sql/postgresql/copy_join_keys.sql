-- copy_join_keys: the unfinished messages with the ordering keys of the messages :seqs; their states.
SELECT DISTINCT w.seq, CAST(w.status AS bigint)
FROM {outbox} AS m JOIN {outbox_work} AS w ON w.ordering_key = m.ordering_key
WHERE m.seq = ANY (ARRAY(SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq)))
