-- queue_find_held: the attempts of claims that :owner holds, to work out their backoff.
SELECT +w.seq, CAST(w.attempt AS INTEGER), +w.claim_number
FROM json_each(:claims) AS c CROSS JOIN {queue_work} AS w
WHERE w.seq = CAST(c.key AS INTEGER) AND w.status = 1 AND w.owner_token = :owner
  AND (c.value IS NULL OR c.value = w.claim_number)
