-- copy_self: the id of this store, if it has one yet.
SELECT CAST(c.id AS text) FROM {copy_self} AS c WHERE c.one = 1
