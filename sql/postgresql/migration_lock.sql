-- migration_lock: one process deploys this schema at a time, until its transaction ends.
SELECT CAST(count(*) AS bigint) FROM (SELECT pg_advisory_xact_lock(hashtextextended('waypost deploy ' || CAST(:schema AS text), 0))) AS l
