-- timer_move: set the due time of the timer @Number.
EXEC {Timers_Move} @Number = :number, @DueAt = :due_at
