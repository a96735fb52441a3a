-- join_list: up to @BatchSize joins after the row @Number.
EXEC {Join_List} @Number = :number, @BatchSize = :batch
