-- queue_copy_clear: there is no work left of those of :seqs that the store :owner holds; with :status, of those in that state.
DELETE FROM {queue_work} AS w
WHERE w.seq IN (SELECT i.seq FROM {copy_item} AS i
                WHERE i.queue = CAST(:name AS text) AND i.seq = ANY (ARRAY(SELECT CAST(j.seq AS bigint) FROM json_array_elements_text(CAST(CAST(:seqs AS text) AS json)) AS j (seq))) AND i.peer = CAST(CAST(:owner AS text) AS uuid)
                  AND i.status = coalesce(CAST(:status AS smallint), i.status))
  AND w.owner_token = CAST(CAST(:owner AS text) AS uuid)
