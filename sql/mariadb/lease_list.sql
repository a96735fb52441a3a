-- lease_list: up to :batch leases behind the name :after: whose they are or were, until when, 1, how many hold it.
SELECT l.name, l.owner, l.held_until, 1, CASE WHEN l.held_until > n.now AND l.owner IS NOT NULL THEN 1 ELSE 0 END
FROM {lease} AS l CROSS JOIN (SELECT COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, DATE'1970-01-01', UTC_TIMESTAMP(6))) AS now) AS n
WHERE l.name > :after ORDER BY l.name LIMIT :batch
