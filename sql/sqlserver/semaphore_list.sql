-- semaphore_list: up to @BatchSize semaphores behind the name @After: when the first holder is over, the limit, how many hold it.
EXEC {Semaphore_List} @After = :after, @BatchSize = :batch, @Now = :now
