-- join_get: one join.
EXEC {Join_Get} @Id = :id
