-- join_list_of: up to @BatchSize joins with the grouping key @GroupingKey after the row @Number.
EXEC {Join_ListOf} @GroupingKey = :name, @Number = :number, @BatchSize = :batch
