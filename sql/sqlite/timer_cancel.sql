-- timer_cancel: end a timer that was never claimed, as cancelled.
INSERT INTO {timer_end} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, :status, 0, CAST(w.claim_number AS INTEGER), :now, NULL, NULL
FROM {timer} AS m CROSS JOIN {timer_work} AS w
WHERE m.id = :id AND w.seq = m.seq AND w.status <> 1 AND w.attempt = 0
RETURNING (SELECT +f.seq FROM {timer_finished} AS f WHERE f.seq = {name:timer_end}.seq)
