-- inbox_find_state: the state of the message @Number, as it is now.
EXEC {inbox_FindState} @Number = :number
