-- join_wait_hold: claims [join, message, claim number] of :owner go back until their join is over, or for :delay us; where the join is just being changed or was just over, for less.
CALL {join_wait_hold}(:messages, :owner, :now, :delay, :lease)
