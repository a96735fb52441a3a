-- copy_join_forget: they are not on their way any more.
DELETE FROM {copy_join} WHERE peer = CAST(CAST(:owner AS text) AS uuid)
