-- join_strangers: how many messages of the JSON array @Seqs are no members of the join @Number.
EXEC {Join_Strangers} @Number = :number, @Seqs = :seqs
