#!/bin/sh
# Installs edge-agent from its .deb, and removes it, on a system with systemd but without dpkg. Needs no network.
set -eu
umask 022

lib=/usr/lib/edge-agent
usage="Usage (as root):
  sh install.sh edge-agent_VERSION_ARCH.deb    install or upgrade; keeps configuration and state
  sh install.sh --remove                       remove the program; configuration and state stay
  sh install.sh --purge                        remove everything except the apps

Needs systemd, glibc 2.28 or newer, libstdc++ and libgcc, tar with xz, and a container engine to be useful."

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

# Prints a member of the .deb, an ar archive: a line of eight bytes, then members, each after a header of 60 bytes.
member() {
  offset=8
  while header=$(tail -c +$((offset + 1)) "$deb" | head -c 60) && [ -n "$header" ]; do
    name=$(printf %s "$header" | cut -c 1-16 | tr -d ' /')
    size=$(printf %s "$header" | cut -c 49-58 | tr -d ' ')
    if [ "$name" = "$1" ]; then
      tail -c +$((offset + 61)) "$deb" | head -c "$size"
      return
    fi
    offset=$((offset + 60 + size + size % 2))
  done
  fail "$deb has no $1: it is not a package of edge-agent, or it is incomplete"
}

installed_version() {
  sed -n 's/^Version: //p' "$lib/maintainer/control" 2>/dev/null || true
}

install_from() {
  deb=$1
  [ -r "$deb" ] || fail "$deb cannot be read"
  # Not in /tmp, which may be mounted noexec, or be a small tmpfs.
  work=$(mktemp -d "$lib.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  mkdir "$work/control" "$work/data"
  member control.tar.xz | tar -xJ -C "$work/control"
  case $(uname -m) in
    x86_64) arch=amd64 ;;
    aarch64) arch=arm64 ;;
    *) arch=$(uname -m) ;;
  esac
  grep -qx "Architecture: $arch" "$work/control/control" || fail "$deb is not for this machine ($arch)"
  member data.tar.xz | tar -xJ -C "$work/data"
  "$work/data$lib/node" --version >/dev/null || fail "the Node.js in $deb does not run here, see above"

  before=$(installed_version)
  # Keeps an existing configuration; the one from the package is put beside it as .dist.
  config=/etc/edge-agent/config.json
  if [ -e "$config" ]; then mv "$work/data$config" "$work/data$config.dist"; fi
  # Replaces the directory as a whole: a running program keeps its open files.
  rm -rf "$lib.old"
  if [ -e "$lib" ]; then mv "$lib" "$lib.old"; fi
  (cd "$work/data" && find . ! -type d) | while read -r path; do
    mkdir -p "/${path%/*}"
    cp -a "$work/data/$path" "/$path"
  done
  rm -rf "$lib.old"
  mkdir -p "$lib/maintainer"
  cp "$work/control/control" "$work/control/postinst" "$work/control/prerm" "$work/control/postrm" "$lib/maintainer/"
  cp "$0" "$lib/install.sh"
  sh "$lib/maintainer/postinst" configure "$before"
  echo "edge-agent $(installed_version) is installed. To remove it: sh $lib/install.sh --remove"
}

remove() {
  [ -e "$lib/maintainer/control" ] ||
    fail "edge-agent was not installed by this script; a removal leaves /etc/edge-agent, /var/lib/edge-agent and /var/log/edge-agent"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cp "$lib/maintainer/postrm" "$work/"
  sh "$lib/maintainer/prerm" remove
  rm -rf "$lib" /usr/bin/edge-agent /usr/lib/systemd/system/edge-agent.service \
    /usr/lib/systemd/system/edge-agent-update.path /usr/lib/systemd/system/edge-agent-update.service \
    /usr/lib/systemd/system/edge-agent-trial.timer /usr/lib/systemd/system/edge-agent-trial.service \
    /usr/lib/sysusers.d/edge-agent.conf \
    /usr/share/doc/edge-agent /usr/share/man/man8/edge-agent.8.gz
  sh "$work/postrm" remove
  if [ "$1" = --purge ]; then sh "$work/postrm" purge; fi
}

case ${1:-} in
  "" | -h | --help) echo "$usage" ; exit 0 ;;
esac
[ "$(id -u)" = 0 ] || fail "must be run as root"
command -v xz >/dev/null || fail "this system has no xz, which is needed to unpack the package"
command -v systemctl >/dev/null || fail "this system has no systemd; run the agent as a container instead, see the documentation"
case $1 in
  --remove | --purge) remove "$1" ;;
  -*) echo "$usage" >&2 ; exit 2 ;;
  *) install_from "$1" ;;
esac
