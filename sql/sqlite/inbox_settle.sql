-- inbox_settle: the message :number is done or dead, whoever has claimed it.
INSERT INTO {inbox_end} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT m.seq, :status, coalesce(f.attempt, w.attempt, 0), coalesce(f.claim_number, w.claim_number, 0), :now, :worker,
       CAST(coalesce(:reason, f.last_error, w.last_error) AS TEXT)
FROM {inbox} AS m
LEFT JOIN {inbox_work} AS w ON w.seq = m.seq
LEFT JOIN {inbox_finished} AS f ON f.seq = m.seq
WHERE m.seq = :number
RETURNING (SELECT +f.seq FROM {inbox_finished} AS f WHERE f.seq = {name:inbox_end}.seq)
