-- copy_pause_note: note that a pause of the topic @Topic of the queue @Queue came from the store @OwnerToken; no row: it did before.
EXEC {CopyPause_Note} @OwnerToken = :owner, @Queue = :source, @Topic = :topic
