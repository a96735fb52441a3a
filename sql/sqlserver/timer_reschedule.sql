-- timer_reschedule: set the next attempt of a timer that was never claimed; returns it.
EXEC {Timers_Reschedule} @Id = :id, @DueAt = :due_at, @Delay = :delay, @Now = :now
