-- queue_copy_list: what is on its way to the store @OwnerToken, or from it: its number here, id, state, size, ordering key; 1: it is held, 2: it is done or had by others; 1: it came from there.
EXEC {queue_CopyList} @OwnerToken = :owner, @Queue = :name
