-- queue_copy_clear: there is no work left of those of :seqs that the store :owner holds; with :status, of those in that state.
DELETE FROM {queue_work} AS w
WHERE w.seq IN (SELECT i.seq FROM {copy_item} AS i
                WHERE i.queue = :name AND i.seq IN (SELECT s.value FROM json_each(:seqs) AS s) AND i.peer = :owner AND i.status = coalesce(:status, i.status))
  AND w.owner_token = :owner
