#!/usr/bin/env bash
# A pipeline for tests: pipeline.sh DIR [stubborn] [mute] [slow] [failing] [ending]
#
# It holds a lock on its slot for as long as anything of it lives, and complains in DIR/violations when another process
# has it. It says in DIR/started who it is, and writes down the time every 20 ms in DIR/beats-SESSION, so that tests know
# how long it lived however it died. All of it is one process.
#   stubborn  does not heed SIGTERM
#   mute      never says that it is ready
#   slow      says so after a while
#   failing   leaves with 3 instead
#   ending    leaves with 7 once there is a file DIR/end-SESSION
set -u
export LC_ALL=C
dir=$1
shift
words=" $* "
is() { [[ $words == *" $1 "* ]]; }

is stubborn && trap '' TERM
# Waiting without starting another process: nothing ever comes from this pipe.
exec 8<> <(:)
pause() { read -r -t "$1" -u 8; }

exec 9>>"$dir/slot-$LEASEHOLD_SLOT.lock"
if ! flock -n 9; then
  echo "session $LEASEHOLD_SESSION_ID found slot $LEASEHOLD_SLOT taken" >>"$dir/violations"
  exit 99
fi
echo "$LEASEHOLD_SESSION_ID $LEASEHOLD_SLOT $LEASEHOLD_LEASE_SEQ $$" >>"$dir/started"

is slow && pause 0.15
is failing && exit 3
is mute || echo ready
while :; do
  echo "$EPOCHREALTIME" >>"$dir/beats-$LEASEHOLD_SESSION_ID"
  is ending && [[ -e $dir/end-$LEASEHOLD_SESSION_ID ]] && exit 7
  pause 0.02
done
