-- lease_clean: forget up to :batch names that nobody has held for :delay us. Rows that others have locked stay.
CALL {lease_clean}(:now, :delay, :batch)
