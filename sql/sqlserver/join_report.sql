-- join_report: count members of the join @Number as @Status; how many did, and 0.
EXEC {Join_Report} @Number = :number, @Seqs = :seqs, @Status = :status, @Now = :now
