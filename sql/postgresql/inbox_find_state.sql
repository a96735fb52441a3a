-- inbox_find_state: the state of the message :number.
SELECT {inbox_state}(CAST(:number AS bigint))
