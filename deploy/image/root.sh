#!/bin/sh
# root.sh NODE TARBALL OUT: writes all files of the container image to OUT. They are the program `node` with the
# libraries that it is linked with, the npm package, and two files of names. There is no shell and no package manager.
set -eu
node=$1 tarball=$2 out=$3

mkdir -p "$out/usr/local/bin" "$out/tollgate" "$out/etc/tollgate" "$out/tmp"
install -d -m 0700 "$out/data"
chmod 1777 "$out/tmp"
# Symbols are a seventh of it.
strip -o "$out/usr/local/bin/node" "$node"
chmod 0755 "$out/usr/local/bin/node"
# Libraries keep their paths, and the loader has a fixed one.
ldd "$node" | grep -o '/[^ )]*' | while read -r library; do
  mkdir -p "$out$(dirname "$library")"
  cp -L "$library" "$out$library"
done
tar -xzf "$tarball" -C "$out/tollgate" --strip-components=1
echo 'tollgate:x:65532:65532::/data:/none' >"$out/etc/passwd"
echo 'tollgate:x:65532:' >"$out/etc/group"
echo 'hosts: files dns' >"$out/etc/nsswitch.conf"
chmod -R a+rX "$out/tollgate" "$out/etc"
# Only root can give files away; a build is root.
if [ "$(id -u)" = 0 ]; then chown 65532:65532 "$out/data"; fi
