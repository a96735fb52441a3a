-- queue_find_standing: where the messages of the claims {seq: claim number} stand now, and by which claim.
SELECT CAST(c.key AS INTEGER), coalesce(f.status, w.status), coalesce(f.claim_number, w.claim_number)
FROM json_each(:claims) AS c
LEFT JOIN {queue_work} AS w ON w.seq = CAST(c.key AS INTEGER)
LEFT JOIN {queue_finished} AS f ON f.seq = CAST(c.key AS INTEGER)
WHERE w.seq IS NOT NULL OR f.seq IS NOT NULL
