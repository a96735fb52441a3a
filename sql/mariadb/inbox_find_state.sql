-- inbox_find_state: the state of the message :number, as it is now.
CALL {inbox_find_state}(:number)
