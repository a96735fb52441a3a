-- timer_cancel: end a timer that was never claimed, as cancelled.
EXEC {Timers_Cancel} @Id = :id, @Status = :status, @Now = :now
