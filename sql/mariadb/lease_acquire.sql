-- lease_acquire: give :name to :owner for :lease us, if it is free, expired or the owner's already; else tell whose it is.
CALL {lease_acquire}(:name, :owner, :lease, :now)
