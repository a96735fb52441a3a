-- timer_reschedule: set the next attempt of a timer that was never claimed; returns it.
CALL {timer_reschedule}(:id, :now, :due_at, :delay)
