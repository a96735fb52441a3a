-- queue_copy_take: hold the messages :seqs for the store :owner, those that nobody holds. Without its ordering key, of which only one may run.
UPDATE {queue_work} AS w
SET status = 1, owner_token = CAST(CAST(:owner AS text) AS uuid), locked_until = CAST(:until AS bigint), ordering_key = NULL
WHERE w.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND w.status <> 1
