-- outbox_finish: end the claims {seq: claim number or null} that :owner holds, as done or failed; whether they are members of joins.
INSERT INTO {outbox_end} (seq, status, attempt, claim_number, finished_at, finished_by, last_error)
SELECT w.seq, :status, CAST(w.attempt AS INTEGER) + :attempts, w.claim_number, :now, :worker, CAST(coalesce(:reason, w.last_error) AS TEXT)
FROM json_each(:claims) AS c CROSS JOIN {outbox_work} AS w
WHERE w.seq = CAST(c.key AS INTEGER) AND w.status = 1 AND w.owner_token = :owner
  AND (c.value IS NULL OR c.value = w.claim_number)
RETURNING (SELECT +f.seq FROM {outbox_finished} AS f WHERE f.seq = {name:outbox_end}.seq), +claim_number,
          EXISTS (SELECT 1 FROM {join_member} AS m WHERE m.seq = {name:outbox_end}.seq)
