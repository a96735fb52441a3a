-- queue_find_standing: where the messages of the claims [[seq, claim number], ...] stand now, and by which claim.
SELECT DISTINCT c.seq, COALESCE(f.status, CASE w.status WHEN 4 THEN 0 ELSE w.status END), COALESCE(f.claim_number, w.claim_number)
FROM JSON_TABLE(:claims, '$[*]' COLUMNS (seq BIGINT PATH '$[0]', claim_number BIGINT PATH '$[1]')) AS c
LEFT JOIN {queue_work} AS w ON w.seq = c.seq
LEFT JOIN {queue_finished} AS f ON f.seq = c.seq
WHERE w.seq IS NOT NULL OR f.seq IS NOT NULL
