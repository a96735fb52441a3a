-- join_report: count members of the join :number as :status; for each: 1 if it did, and 1 if nothing happened at all.
INSERT INTO {join_count} (join_seq, seq, status, counted_at)
SELECT m.join_seq, m.seq, :status, :now
FROM json_each(:seqs) AS s CROSS JOIN {join_member} AS m CROSS JOIN {join} AS j
WHERE m.join_seq = :number AND m.seq = s.value AND m.status = 0 AND j.seq = m.join_seq AND j.status = 0
RETURNING (SELECT m.status <> 0 FROM {join_member} AS m WHERE m.join_seq = {name:join_count}.join_seq AND m.seq = {name:join_count}.seq),
          (SELECT m.status = 0 AND j.status = 0 FROM {join_member} AS m CROSS JOIN {join} AS j
           WHERE m.join_seq = {name:join_count}.join_seq AND m.seq = {name:join_count}.seq AND j.seq = m.join_seq)
