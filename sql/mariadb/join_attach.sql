-- join_attach: make the messages of the JSON array :seqs members of the join :number, if it is open; those that were none; none that is just coming from another store. Those that are finished count.
CALL {join_attach}(:number, :seqs, :now)
