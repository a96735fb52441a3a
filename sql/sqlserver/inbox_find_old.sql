-- inbox_find_old: up to @BatchSize finished messages after @Number; 1: done, and not seen, for @Delay us, and not on its way between stores, which would take it for deleted by the one that moves; 1: not so old itself.
EXEC {inbox_FindOld} @Number = :number, @Delay = :delay, @BatchSize = :batch, @Now = :now
