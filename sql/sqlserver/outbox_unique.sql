-- outbox_unique: what a finished message has no more, so that its unique key is free.
        ActiveKey = NULL,
