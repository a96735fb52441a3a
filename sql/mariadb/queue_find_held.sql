-- queue_find_held: the attempts of claims that :owner holds, to work out their backoff.
SELECT w.seq, w.attempt, w.claim_number
FROM JSON_TABLE(:claims, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c STRAIGHT_JOIN {queue_work} AS w FORCE INDEX (PRIMARY) ON w.seq = c.seq
WHERE w.status = 1 AND w.owner_token = UNHEX(REPLACE(:owner, '-', ''))
  AND (c.claim_number IS NULL OR c.claim_number = w.claim_number)
