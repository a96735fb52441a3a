-- inbox_mark: the app processes the message :number itself.
INSERT INTO {inbox_work} (seq, topic, status, next_attempt_at, attempt, claim_number)
SELECT CAST(:number AS bigint), '', 1, coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)), 0, 0
