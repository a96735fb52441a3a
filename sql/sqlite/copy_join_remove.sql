-- copy_join_remove: the joins that go to the store :owner are deleted, with all that is known of them.
DELETE FROM {join}
WHERE seq IN (SELECT c.seq FROM {copy_join} AS c WHERE c.peer = :owner AND c.arrived = 0)
  AND EXISTS (SELECT 1 FROM {copy_join} AS d WHERE d.id = {name:join}.id AND d.seq = {name:join}.seq AND d.peer = :owner AND d.arrived = 0)
