-- join_find: the joins of the ids of the JSON array @Ids, with their places in it.
EXEC {Join_Find} @Ids = :ids
