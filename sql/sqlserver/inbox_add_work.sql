-- inbox_add_work: the message @Number is to be processed, if it is more than seen.
EXEC {inbox_AddWork} @Number = :number
