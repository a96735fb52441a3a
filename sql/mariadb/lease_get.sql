-- lease_get: who holds :name, or held it last.
SELECT 0, l.owner, l.fence, l.held_until, n.now, 1, CASE WHEN l.held_until > n.now AND l.owner IS NOT NULL THEN 1 ELSE 0 END
FROM {lease} AS l
CROSS JOIN (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n
WHERE l.name = :name
