#!/bin/sh
# Runs the groups of rows in a root that holds nothing of this machine but /usr, read only. It is started in namespaces of
# its own (user, mount, process, network) and as a user who owns nothing: what escapes from the sandbox lands here.
set -eu
stage=$1
new=$stage/root
mount --make-rprivate /
mount -t tmpfs -o mode=755,size=768m tmpfs "$new"
cd "$new"
mkdir usr etc dev proc tmp home var run opt outside log stage old
mount --rbind /usr usr
mount -o remount,bind,ro usr 2>/dev/null || true
for name in bin sbin lib lib32 lib64; do
    if [ -L "/$name" ]; then
        cp -P "/$name" "$name"
    elif [ -d "/$name" ]; then
        mkdir "$name" && mount --rbind "/$name" "$name"
    fi
done
for name in ld.so.cache alternatives; do
    [ ! -e "/etc/$name" ] || cp -R "/etc/$name" etc/
done
for name in null zero full random urandom tty; do
    : >"dev/$name" && mount --bind "/dev/$name" "dev/$name"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts && ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
mount -t proc proc proc
mount --rbind "$stage" stage
mount -o remount,bind,ro stage
pivot_root . old
cd /
umount -l /old
rmdir /old
exec sh /stage/world.sh
