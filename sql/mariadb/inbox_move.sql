-- inbox_move: the unfinished message :number has come again, with another topic and due time; no row: it is finished.
CALL {inbox_move}(:number, :topic, :now, :due_at, :delay, :expires_at)
