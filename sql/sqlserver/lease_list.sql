-- lease_list: up to @BatchSize leases behind the name @After: whose they are or were, until when, 1, how many hold it.
EXEC {Lease_List} @After = :after, @BatchSize = :batch, @Now = :now
