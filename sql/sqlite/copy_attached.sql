-- copy_attached: those of the messages :seqs that are members of joins that are not over, and have not counted yet; 0.
SELECT DISTINCT +k.seq, 0
FROM json_each(:seqs) AS s CROSS JOIN {join_member} AS k CROSS JOIN {join} AS j
WHERE k.seq = s.value AND k.status = 0 AND j.seq = k.join_seq AND j.status = 0
