-- copy_join_of: the open joins in which the messages :seqs are members that have not counted yet; 0.
SELECT DISTINCT +j.seq, 0
FROM json_each(:seqs) AS s CROSS JOIN {join_member} AS k CROSS JOIN {join} AS j
WHERE k.seq = s.value AND k.status = 0 AND j.seq = k.join_seq AND j.status = 0
