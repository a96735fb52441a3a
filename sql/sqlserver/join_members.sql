-- join_members: up to @BatchSize members of a join after the message @Number.
EXEC {Join_Members} @Id = :id, @Number = :number, @BatchSize = :batch
