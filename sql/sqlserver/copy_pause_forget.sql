-- copy_pause_forget: pauses that came from the store @OwnerToken, and that it does not have any more: those are not in the JSON array @Topics of "queue/topic".
EXEC {CopyPause_Forget} @OwnerToken = :owner, @Topics = :topics
