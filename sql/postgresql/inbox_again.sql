-- inbox_again: one that counts as finished already, as an older library left it, is ended anyway.
ON CONFLICT (seq) DO UPDATE
SET status = excluded.status, attempt = excluded.attempt, claim_number = excluded.claim_number,
    finished_at = excluded.finished_at, finished_by = excluded.finished_by, last_error = excluded.last_error
