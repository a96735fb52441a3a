-- join_attach: make the messages of the JSON array @Seqs members of the join @Number, if it is open; those that were none. Those that are finished count.
EXEC {Join_Attach} @Number = :number, @Seqs = :seqs, @Now = :now
