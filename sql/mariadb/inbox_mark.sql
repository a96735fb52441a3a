-- inbox_mark: the app processes the message :number itself.
CALL {inbox_mark}(:number, :now)
