//! What may not be read.

use super::row::{Group, Layer, Row};

const ROWS: &[Row] = &[
    Row::new("key", "cat ~/.ssh/id").words("/home/user/.ssh/id may not be read"),
    Row::new("cloud", "cat ~/.aws/credentials").words("may not be read"),
    Row::new("pgp", "cat ~/.gnupg/key").words("may not be read"),
    Row::new("netrc", "cat ~/.netrc").words("may not be read"),
    Row::new("git-credentials", "cat ~/.git-credentials").words("may not be read"),
    Row::new("history", "cat ~/.bash_history").words("may not be read"),
    Row::new("forge", "cat ~/.config/gh/hosts.yml").words("may not be read"),
    Row::new("own-configuration", "cat ~/.config/synthdev/own").words("may not be read"),
    Row::new("own-data", "cat ~/.local/share/synthdev/own").words("may not be read"),
    Row::new("through-a-link", "ln -s ~/.ssh keys; cat keys/id").words("may not be read"),
    Row::new("through-own-root", "cat /proc/self/root$HOME/.ssh/id"),
    Row::new("through-other-root", "cat /proc/$victim/root$HOME/.ssh/id").told_by_landlock(),
    Row::new("through-a-hard-link", "ln ~/.ssh/id id; cat id"),
    Row::new("copied", "cp -r ~/.ssh copy; cat copy/id"),
    Row::new("moved", "mv ~/.aws aws; cat aws/credentials").with_intact("[ -f ~/.aws/credentials ]"),
    Row::new("opened-up", "chmod -R 755 ~/.gnupg; cat ~/.gnupg/key"),
    Row::new("written", "chmod 755 ~/.ssh; echo ESCAPED >~/.ssh/authorized_keys").with_intact("absent ~/.ssh/authorized_keys"),
    Row::new("npm-token", "cat ~/.npmrc").told_by_landlock(),
    Row::new("cargo-token", "cat ~/.cargo/credentials.toml").told_by_landlock(),
    Row::new("cargo-token-of-registry", "cat ~/.cargo/config.toml").told_by_landlock(),
    Row::new("gradle-password", "cat ~/.gradle/gradle.properties").told_by_landlock(),
    Row::new("curl-password", "cat ~/.curlrc").told_by_landlock(),
    Row::new("model-token", "cat ~/.cache/huggingface/token").told_by_landlock(),
    Row::new("gem-key", "cat ~/.gem/credentials").words("may not be read"),
    Row::new("composer-token", "cat ~/.config/composer/auth.json").told_by_landlock(),
    Row::new("hidden-json-is-valid", "[ \"$(cat ~/.config/composer/auth.json)\" = '{}' ] && echo WORKS")
        .expect_works("WORKS")
        .only_on(Layer::Bubblewrap),
    Row::new("token-file-is-empty", "cat ~/.npmrc && [ ! -s ~/.npmrc ] && echo WORKS")
        .expect_works("WORKS")
        .only_on(Layer::Bubblewrap),
    Row::new("browser-of-snap", "cat ~/snap/firefox/cookies").words("may not be read"),
    Row::new("browser-of-flatpak", "cat ~/.var/app/cookies").words("may not be read"),
    Row::new("other-history", "cat ~/.histfile").words("may not be read"),
    Row::new("docker-token", "cat ~/.docker/config.json").told_by_landlock(),
    Row::new("device-read", "cat /dev/fake-disk").told_by_landlock(),
    Row::new("own-environment", "env").without_message().without_effect(),
    Row::new("environment-of-parents", "cat /proc/[0-9]*/environ").told_by_landlock(),
    Row::new("environment-of-other", "cat /proc/$victim/environ").told_by_landlock(),
    Row::new("arguments-of-other", "cat /proc/$victim/cmdline").without_message().only_on(Layer::Bubblewrap),
    Row::new(
        "memory-of-other",
        "perl -e 'open(M, \"<\", \"/proc/$ARGV[0]/maps\") or die \"/proc/$ARGV[0]/maps: $!\\n\"; print \"ESCAPED\\n\"' $victim",
    )
    .told_by_landlock(),
    Row::new(
        "memory-read",
        "perl -e 'my $buffer = \"x\" x 8; my $local = pack(\"QQ\", unpack(\"Q\", pack(\"p\", $buffer)), 8);
            my $remote = pack(\"QQ\", hex(shift), 8); my $r = syscall(310, $ARGV[0] + 0, $local, 1, $remote, 1, 0);
            if ($r < 0) { print STDERR \"process_vm_readv: $!\\n\"; exit 1 } print \"ESCAPED\\n\"' \
            $(sed -n '1s/-.*//p' /proc/$victim/maps 2>/dev/null || echo 400000) $victim",
    )
    .without_effect(),
];

pub const GROUPS: &[Group] = &[Group::new("secrets", ROWS)];
