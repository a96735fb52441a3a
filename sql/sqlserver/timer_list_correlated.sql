-- timer_list_correlated: timers with a correlation id after the one @Number, in the order in which they were scheduled.
EXEC {Timers_ListCorrelated} @CorrelationId = :correlation_id, @Number = :number, @BatchSize = :batch, @Payloads = :payloads
