# Installs a program $1 by its package $2 where it is missing and this is root on Debian.
set -eu
if command -v "$1" >/dev/null || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then exit; fi
apt-get update -qq && apt-get install -y -qq "$2" >/dev/null
