-- copy_join_known: whether there is a join with the id :id, or one is on its way.
SELECT 1 FROM {join} AS j WHERE j.id = CAST(CAST(:id AS text) AS uuid)
UNION ALL
SELECT 1 FROM {copy_join} AS c WHERE c.id = CAST(CAST(:id AS text) AS uuid)
