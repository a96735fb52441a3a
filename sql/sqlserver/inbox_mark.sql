-- inbox_mark: the app processes the message @Number itself.
EXEC {inbox_Mark} @Number = :number, @Now = :now
