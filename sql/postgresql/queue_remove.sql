-- queue_remove: the messages :seqs themselves.
DELETE FROM {queue} AS t
WHERE t.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq)))
