-- semaphore_clean: forget up to :batch holders whose time has passed :delay us ago. What others have locked stays.
CALL {semaphore_clean}(:now, :delay, :batch)
