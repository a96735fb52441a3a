-- queue_copy_settle: those of :seqs are done here, and known as such.
INSERT INTO {queue_finished} (seq, status, attempt, claim_number, finished_at, finished_by)
SELECT w.seq, 2, w.attempt, w.claim_number,
       coalesce(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)), CAST(:worker AS text)
FROM {copy_item} AS i JOIN {queue_work} AS w ON w.seq = i.seq
WHERE i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid)
