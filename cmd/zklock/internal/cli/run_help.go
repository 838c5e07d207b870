package cli

const runLong = `Run takes the lock on PATH, waiting for its turn, runs the command, and gives the lock
back when nothing of the command is left. The command is executed as it is, by no shell,
with our standard input, output and error, in a process group of its own, which has the
terminal if we are alone in the foreground. Signals are passed on to it. While we are
stopped the command is too, and the lock is kept.

The command finds in its environment ZKLOCK_PATH, ZKLOCK_NODE (the lock's node),
ZKLOCK_TOKEN (the fencing token: a number that grows with each holder) and
ZKLOCK_SESSION.

If the lock is lost, the command is sent SIGTERM, and all that is left of it SIGKILL
after --kill-after.

The exit code is the command's, or 128 plus the number of the signal that ended it, or
one of these:
  64   the command line, or what it names, is wrong
  69   no server could be reached in time
  75   somebody else has the lock (--nonblock), or had it until --timeout
  76   the lock was lost before the command had ended
  77   the credentials, or the permissions of the path
  126  the command cannot be executed
  127  the command does not exist`

const runExample = `  zklock run /locks/backup -- pg_dump -f /backup/db.sql db
  zklock run --nonblock /locks/report -- ./report.sh
  zklock run --timeout 30s --shared /locks/index -- ./search.sh
  zklock run --limit 4 /locks/encoders -- ffmpeg -i in.mov out.mp4`
