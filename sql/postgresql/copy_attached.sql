-- copy_attached: those of the messages :seqs that are members of joins that are not over, and have not counted yet; 0.
SELECT DISTINCT k.seq, CAST(0 AS bigint)
FROM {join_member} AS k JOIN {join} AS j ON j.seq = k.join_seq
WHERE k.seq = ANY (ARRAY(SELECT CAST(s.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS s (seq))) AND k.status = 0 AND j.status = 0
