# SPDX-License-Identifier: Apache-2.0
# Completion of the command `waypost` for bash: commands, their verbs and options, queues.
_waypost() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command="" verb="" i
    local everywhere="--url --set --json --help --version"
    local commands="deploy verify health stats enqueue peek show dead cleanup copy pause resume paused audit jobs runs timers lease worker supervise top cron help"
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --url | --set) ((i++)) ;;
        -*) ;;
        *) if [ -z "$command" ]; then command=${COMP_WORDS[i]}; elif [ -z "$verb" ]; then verb=${COMP_WORDS[i]}; fi ;;
        esac
    done
    local words=""
    case $before in
    --queue) words="outbox inbox timers jobs all" ;;
    --url | --to) words="sqlite: postgresql:// odbc:" ;;
    *)
        case $command in
        "") words="$commands $everywhere" ;;
        health) words="--max-age --limit --scheduler" ;;
        stats) words="--queue --unfinished" ;;
        enqueue) words="--queue --delay --header --correlation-id --ordering-key --unique-key" ;;
        peek) words="--queue --topic --limit" ;;
        show) words="--queue" ;;
        dead) words="list show replay purge edit --queue --topic --reason --id --limit --all --rate --by --yes" ;;
        cleanup) words="--older-than --queue" ;;
        copy) words="--to --to-schema --to-set --batch --no-dead --dry-run --cancel" ;;
        pause | resume) words="--queue --by" ;;
        audit) words="--limit" ;;
        jobs) words="list show put preview trigger pause resume delete --zone --topic --payload --count --yes --by" ;;
        runs) words="list show cancel --job --limit" ;;
        timers) words="list cancel reschedule --delay --correlation-id --limit" ;;
        lease) words="--semaphore" ;;
        worker) words="--queue --threads --stop-timeout --drain --" ;;
        supervise) words="--min --max --queue --topic --stop-timeout --" ;;
        top) words="--interval --count" ;;
        cron) words="--zone --count" ;;
        esac
        [ -z "$command" ] || words="$words --json"
        [ -z "$verb" ] || [[ $word == -* ]] || words=""
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _waypost waypost
