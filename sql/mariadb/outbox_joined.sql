-- outbox_joined: what was just finished counts where it is a member of a join.
    CALL {join_finished}(v_held, v_now);
