-- join_report: count members of the join :number as :status; how many did, -1 if the join is gone, and 0.
CALL {join_report}(:number, :seqs, :status, :now)
