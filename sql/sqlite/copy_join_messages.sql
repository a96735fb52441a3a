-- copy_join_messages: the unfinished members, not counted yet, of the open joins :seqs; their states.
SELECT DISTINCT +w.seq, +w.status
FROM json_each(:seqs) AS s CROSS JOIN {join} AS j CROSS JOIN {join_member} AS k CROSS JOIN {outbox_work} AS w
WHERE j.seq = s.value AND j.status = 0 AND k.join_seq = j.seq AND k.status = 0 AND w.seq = k.seq
