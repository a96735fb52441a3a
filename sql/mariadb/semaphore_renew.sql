-- semaphore_renew: extend what :owner holds to :lease us from now; with :fence, that very slot.
CALL {semaphore_renew}(:name, :owner, :fence, :lease, :now)
