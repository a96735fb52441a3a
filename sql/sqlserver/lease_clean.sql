-- lease_clean: forget up to @BatchSize names that nobody has held for @Delay us. Rows that others have locked stay.
EXEC {Lease_Clean} @Delay = :delay, @BatchSize = :batch, @Now = :now
