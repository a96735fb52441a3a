-- inbox_find_old: up to @BatchSize finished messages after @Number; 1: done, and not seen, for @Delay us; 1: not so old itself.
EXEC {inbox_FindOld} @Number = :number, @Delay = :delay, @BatchSize = :batch, @Now = :now
