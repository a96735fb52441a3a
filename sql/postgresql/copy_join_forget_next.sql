-- copy_join_forget_next: and what is enqueued of the joins on their way to the store :owner, or from it.
DELETE FROM {copy_join_next} AS n
WHERE n.id IN (SELECT c.id FROM {copy_join} AS c WHERE c.peer = CAST(CAST(:owner AS text) AS uuid))
