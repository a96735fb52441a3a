-- migration_lock: one process deploys this schema at a time, until its connection ends.
SELECT GET_LOCK(CONCAT('waypost ', SHA1(CONCAT(DATABASE(), ' ', :schema))), 31536000)
