-- inbox_fill: give the message :number the values that it came with this time. Its ordering key stays while
-- it is unfinished.
UPDATE {inbox} AS m
SET topic = CAST(:topic AS text), payload = CAST(:payload AS text), headers = CAST(:headers AS text),
    correlation_id = CAST(:correlation_id AS text),
    ordering_key = CASE WHEN EXISTS (SELECT 1 FROM {inbox_work} AS w WHERE w.seq = CAST(:number AS bigint))
                        THEN m.ordering_key ELSE CAST(:ordering_key AS text) END,
    hash = CAST(:hash AS text), hash_algorithm = CAST(:hash_algorithm AS text),
    due_at = coalesce(CAST(:due_at AS bigint), n.now + CAST(:delay AS bigint)), expires_at = CAST(:expires_at AS bigint)
FROM (SELECT coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now) AS n
WHERE m.seq = CAST(:number AS bigint)
