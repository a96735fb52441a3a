-- inbox_move: the unfinished message @Number has come again, with another topic and due time; no row: it is finished.
EXEC {inbox_Move} @Number = :number, @Topic = :topic, @Now = :now, @DueAt = :due_at, @Delay = :delay, @ExpiresAt = :expires_at
