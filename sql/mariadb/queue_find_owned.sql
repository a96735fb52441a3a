-- queue_find_owned: the claims that are :owner's.
SELECT w.seq, w.claim_number
FROM {queue_work} AS w FORCE INDEX (leased)
WHERE w.locked_until IS NOT NULL AND w.status = 1 AND w.owner_token = UNHEX(REPLACE(:owner, '-', ''))
