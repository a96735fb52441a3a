-- inbox_unmark: the app does not process the message @Number itself any more.
EXEC {inbox_Unmark} @Number = :number
