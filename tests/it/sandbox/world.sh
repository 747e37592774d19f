# A machine to be escaped to: a home with keys, services that listen, a process to be read, and files to be changed.
set -eu
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/user LC_ALL=C
umask 022
chmod 1777 /tmp
mkdir -p $HOME /var/spool/cron/crontabs /var/tmp /etc/cron.d /opt/bin /outside/git/hooks /outside/empty
echo 'user:x:0:0::/home/user:/bin/sh' >/etc/passwd
echo 'user:x:0:' >/etc/group
printf 'nameserver 127.0.0.1\noptions timeout:1 attempts:1\n' >/etc/resolv.conf
echo '127.0.0.1 localhost' >/etc/hosts
echo 'hosts: files dns' >/etc/nsswitch.conf
echo intact >/dev/fake-sda
echo ESCAPED >/dev/fake-disk
echo intact >/etc/cron.d/existing
for at in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo intact >/outside/c$at; done
cd $HOME
mkdir -p .ssh .aws .gnupg .config/gh .config/synthdev .config/systemd/user .config/autostart .config/git .local/bin \
    .local/share/synthdev .cargo/bin .docker .cache/node/corepack .var/app snap/firefox .gradle \
    .cache/huggingface .gem .config/composer
echo '# intact' >.cache/p10k-instant-prompt-user.zsh
for name in .ssh/id .aws/credentials .gnupg/key .netrc .git-credentials .bash_history .config/gh/hosts.yml \
    .config/synthdev/own .local/share/synthdev/own .var/app/cookies snap/firefox/cookies .histfile .gem/credentials; do
    echo "ESCAPED content of $name" >$name
done
echo '//r.example/:_authToken=ESCAPED' >.npmrc
echo 'token = "ESCAPED"' >.cargo/credentials.toml
printf '[registries.own]\ntoken = "ESCAPED"\n' >.cargo/config.toml
echo 'publishPassword=ESCAPED' >.gradle/gradle.properties
echo '{"auths": {"r.example": {"auth": "ESCAPED"}}}' >.docker/config.json
echo 'user = "me:ESCAPED"' >.curlrc
echo 'hf_ESCAPED' >.cache/huggingface/token
echo '{"bearer": {"r.example": "ESCAPED"}}' >.config/composer/auth.json
echo '# intact' >.bashrc
git config --global user.name user
git config --global user.email user@localhost
git config --global protocol.file.allow always
perl /stage/outside.pl &
for at in $(seq 200); do [ -e /log/ready ] || sleep 0.02; done
[ -e /log/ready ]

for group in /stage/groups/*; do
    project=$HOME/${group##*/}
    mkdir -p "$project" && cd "$project"
    git init -q -b main .
    cp -R "$group/rows" rows
    rm -rf $HOME/.config/synthdev/roles
    cp "$group/settings.json" $HOME/.config/synthdev/settings.json
    . "$group/setup.sh" >&2
    project=$PWD
    echo "group ${group##*/}"
    timeout -k 5 90 env -i PATH="${search_path:-/opt/bin:$PATH}" HOME=$HOME OPENAI_API_KEY=ESCAPED-key LC_ALL=C \
        DATABASE_URL=postgres://me:ESCAPED@far.example/d \
        /stage/synthdev run --workflow-file "$group/workflow.json" --replies "$group/replies.json" go --yes --events \
        $(cat "$group/arguments") 2>/log/err 7>/outside/open || { echo "ended $?"; sed 's/^/error /' /log/err; }
    [ -z "$(ls $HOME/.local/share/synthdev/sandbox 2>/dev/null | grep synthdev-sandbox-)" ] || echo "left ${group##*/}"
    # what a process that got away does is given time to be seen
    [ ! -e "$group/late" ] || sleep 1
    for check in "$group"/checks/*; do
        cd "$project"
        if sh -c '. /stage/check.sh; . "$0"' "$check" >&2; then state=intact; else state=broken; fi
        echo "check ${check##*/} $state"
    done
    unset search_path
done
echo 'done'
