-- copy_join_held: how many messages are on their way to the store :owner, or from it, with joins.
SELECT count(*) FROM {copy_item} AS i WHERE i.queue = 'join' AND i.peer = CAST(CAST(:owner AS text) AS uuid)
