-- join_wait_hold: the claims [[join, message, claim number], ...] of @OwnerToken go back until their join is over, or for @Delay us; where the join is just being changed or was just over, for @Soon us.
EXEC {Join_WaitHold} @Messages = :messages, @OwnerToken = :owner, @Delay = :delay, @Soon = :lease, @Now = :now
