//! Files outside of the project, and files in it that programs of the outside obey.

use super::row::{Group, Layer, Row};

const OUTSIDE: &[Row] = &[
    Row::new("write-absolute", "echo ESCAPED >/outside/absolute")
        .with_intact("absent /outside/absolute")
        .words("/outside/absolute may not be written"),
    Row::new("write-dotdot", "echo ESCAPED >../dotdot").with_intact("absent ../dotdot"),
    Row::new("write-relative", "cd /outside && echo ESCAPED >relative").with_intact("absent /outside/relative"),
    Row::new("overwrite", "echo ESCAPED >/outside/c1").with_intact("unchanged /outside/c1"),
    Row::new("append", "echo ESCAPED >>/outside/c2").with_intact("unchanged /outside/c2"),
    Row::new("remove", "rm -f /outside/c3").with_intact("unchanged /outside/c3"),
    Row::new("rename", "mv /outside/c4 /outside/c4.moved").with_intact("unchanged /outside/c4"),
    Row::new("move-in", "mv /outside/c5 c5").with_intact("unchanged /outside/c5"),
    Row::new("move-out", "echo ESCAPED >moved && mv moved /outside/moved").with_intact("absent /outside/moved"),
    Row::new("link", "ln -s /outside/c6 link && echo ESCAPED >link").with_intact("unchanged /outside/c6"),
    Row::new("link-to-directory", "ln -s /outside linked && echo ESCAPED >linked/new").with_intact("absent /outside/new"),
    Row::new("link-to-nothing", "ln -s /outside/dangling dangling && echo ESCAPED >dangling")
        .with_intact("absent /outside/dangling"),
    Row::new("hard-link-in", "ln /outside/c7 hard && echo ESCAPED >hard").with_intact("unchanged /outside/c7"),
    Row::new("hard-link-out", "ln rows/prelude.sh /outside/hard").with_intact("absent /outside/hard"),
    Row::new("truncate", "truncate -s 0 /outside/c8").with_intact("unchanged /outside/c8"),
    Row::new("truncate-by-path", "call 'truncate /outside/c9' 76 @/outside/c9 0").with_intact("unchanged /outside/c9"),
    Row::new(
        "truncate-while-reading",
        "perl -MFcntl -e 'sysopen(F, \"/outside/c10\", O_RDONLY | O_TRUNC) or die \"/outside/c10: $!\\n\"'",
    )
    .with_intact("unchanged /outside/c10"),
    Row::new("mode", "chmod 777 /outside/c11")
        .with_intact("[ \"$(stat -c %a /outside/c11)\" = 644 ]")
        .only_on(Layer::Bubblewrap),
    Row::new("times", "touch -d 2001-01-01 /outside/c12")
        .with_intact("[ /outside/c12 -nt /usr/bin/perl ] || [ \"$(date -r /outside/c12 +%Y)\" != 2001 ]")
        .only_on(Layer::Bubblewrap),
    Row::new("attribute", "call 'setxattr /outside/c13' 188 @/outside/c13 @user.x @ESCAPED 7 0")
        .only_on(Layer::Bubblewrap)
        .without_effect(),
    Row::new("make-directory", "mkdir /outside/made").with_intact("absent /outside/made"),
    Row::new("remove-directory", "rmdir /outside/empty").with_intact("[ -d /outside/empty ]"),
    Row::new("make-fifo", "mkfifo /outside/fifo").with_intact("absent /outside/fifo"),
    Row::new("make-socket", "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) && bind(S, pack_sockaddr_un(\"/outside/s\")) or die \"/outside/s: $!\\n\"'")
        .with_intact("absent /outside/s"),
    Row::new("own-root", "echo ESCAPED >/proc/self/root/outside/self").with_intact("absent /outside/self"),
    Row::new("root-of-first", "echo ESCAPED >/proc/1/root/outside/first").with_intact("absent /outside/first"),
    Row::new("root-of-other", "echo ESCAPED >/proc/$victim/root/outside/other")
        .with_intact("absent /outside/other")
        .told_by_landlock(),
    Row::new("directory-of-other", "echo ESCAPED >/proc/$victim/cwd/other-cwd")
        .with_intact("absent ~/other-cwd")
        .told_by_landlock(),
    Row::new(
        "link-swapped",
        "mkdir -p swap; ( for at in $(seq 200); do mv swap kept; ln -s /outside swap; rm swap; mv kept swap; done ) 2>/dev/null &
         for at in $(seq 400); do ( echo ESCAPED >swap/swapped ) 2>/dev/null; done; wait
         rm -rf swap kept; ln -s /outside swap; echo ESCAPED >swap/swapped",
    )
    .with_intact("absent /outside/swapped"),
    Row::new(
        "open-files",
        "perl -e 'opendir(D, \"/proc/self/fd\"); for (grep { /^\\d+$/ && $_ > 2 } readdir D) {
            my $to = readlink(\"/proc/self/fd/$_\") // next; next if $to =~ m{/proc/\\d+/fd$} or $to =~ m{rows/};
            print \"ESCAPED: $_ is $to\\n\" }'",
    )
    .without_message()
    .without_effect(),
    Row::new("device", "echo ESCAPED >/dev/fake-sda && cat /dev/fake-sda >/dev/null")
        .with_intact("unchanged /dev/fake-sda")
        .told_by_landlock(),
    Row::new("make-device", "mknod device b 8 0").with_intact("absent device").without_effect(),
    Row::new("temporary", "echo ESCAPED >/tmp/shared").with_intact("absent /tmp/shared").told_by_landlock(),
    Row::new("second-temporary", "echo ESCAPED >/var/tmp/shared").with_intact("absent /var/tmp/shared").told_by_landlock(),
    Row::new("shared-memory", "echo ESCAPED >/dev/shm/shared").with_intact("absent /dev/shm/shared").told_by_landlock(),
    Row::new("state-of-services", "echo ESCAPED >/run/shared").with_intact("absent /run/shared").told_by_landlock(),
    Row::new(
        "private-directories",
        "for at in /tmp /var/tmp /run /dev/shm; do echo x >$at/own && [ -s $at/own ] || exit 1; done; echo WORKS",
    )
    .expect_works("WORKS")
    .only_on(Layer::Bubblewrap),
];

const SHELLS: &[Row] = &[
    Row::new("shell-profile", "echo ESCAPED >>~/.bashrc").with_intact("clean ~/.bashrc"),
    Row::new("new-profile", "echo ESCAPED >~/.profile").with_intact("absent ~/.profile"),
    Row::new("systemd-unit", "echo ESCAPED >~/.config/systemd/user/x.service")
        .with_intact("clean ~/.config/systemd"),
    Row::new("autostart", "echo ESCAPED >~/.config/autostart/x.desktop")
        .with_intact("clean ~/.config/autostart"),
    Row::new("own-programs", "echo ESCAPED >~/.local/bin/git").with_intact("clean ~/.local/bin"),
    Row::new("cargo-programs", "echo ESCAPED >~/.cargo/bin/cargo").with_intact("clean ~/.cargo/bin"),
    Row::new("search-path", "echo ESCAPED >/opt/bin/ls").with_intact("clean /opt/bin"),
    Row::new("cron", "echo ESCAPED >/etc/cron.d/x").with_intact("clean /etc/cron.d"),
    Row::new("cron-existing", "echo ESCAPED >/etc/cron.d/existing").with_intact("clean /etc/cron.d"),
    Row::new("crontab", "echo ESCAPED >/var/spool/cron/crontabs/user").with_intact("clean /var/spool/cron"),
    Row::new("preload", "echo ESCAPED >/etc/ld.so.preload").with_intact("absent /etc/ld.so.preload"),
    Row::new("user-git", "git config --global core.fsmonitor ESCAPED").with_intact("clean ~/.gitconfig"),
    Row::new("user-git-directory", "echo ESCAPED >~/.config/git/config").with_intact("clean ~/.config/git"),
    Row::new("shell-cache", "echo ESCAPED >>~/.cache/p10k-instant-prompt-user.zsh")
        .with_intact("clean ~/.cache/p10k-instant-prompt-user.zsh"),
    Row::new("shell-cache-compiled", "echo ESCAPED >~/.cache/p10k-instant-prompt-user.zsh.zwc")
        .with_intact("absent ~/.cache/p10k-instant-prompt-user.zsh.zwc"),
    Row::new("hook-programs", "mkdir ~/.cache/pre-commit && echo ESCAPED >~/.cache/pre-commit/db.db")
        .with_intact("absent ~/.cache/pre-commit"),
    Row::new("package-managers", "echo ESCAPED >~/.cache/node/corepack/pnpm")
        .with_intact("clean ~/.cache/node"),
    Row::new("own-settings", "echo ESCAPED >~/.config/synthdev/settings.json")
        .with_intact("clean ~/.config/synthdev/settings.json"),
    Row::new("through-link", "ln -s ~ at-home; echo ESCAPED >at-home/.zshrc").with_intact("absent ~/.zshrc"),
];

const GIT: &[Row] = &[
    Row::new("hook-existing", "echo ESCAPED >.git/hooks/pre-push").with_intact("unchanged .git/hooks/pre-push"),
    Row::new("hook-new", "echo ESCAPED >.git/hooks/pre-commit").with_intact("absent .git/hooks/pre-commit").without_effect(),
    Row::new("hook-removed", "rm .git/hooks/pre-push").with_intact("unchanged .git/hooks/pre-push"),
    Row::new("hooks-moved", "mv .git/hooks .git/h && mkdir .git/hooks && echo ESCAPED >.git/hooks/x")
        .with_intact("clean .git/hooks && unchanged .git/hooks/pre-push"),
    Row::new("git-setting", "git config core.fsmonitor ESCAPED").with_intact("clean .git/config"),
    Row::new("git-setting-moved", "cp .git/config x && echo ESCAPED >>x && mv x .git/config").with_intact("clean .git/config"),
    Row::new("git-setting-removed", "rm -f .git/config && echo ESCAPED >.git/config").with_intact("clean .git/config"),
    Row::new("git-worktree-setting", "echo ESCAPED >.git/config.worktree").with_intact("absent .git/config.worktree"),
    Row::new("git-common", "echo ESCAPED >.git/commondir").with_intact("absent .git/commondir"),
    Row::new("module-setting", "echo ESCAPED >>.git/modules/sub/config").with_intact("clean .git/modules/sub/config"),
    Row::new("module-setting-below", "echo ESCAPED >>.git/modules/deep/er/config")
        .with_intact("clean .git/modules/deep/er/config"),
    Row::new("module-hook", "mkdir -p .git/modules/deep/er/hooks; echo ESCAPED >.git/modules/deep/er/hooks/x")
        .with_intact("clean .git/modules/deep/er/hooks"),
    Row::new("module-moved", "mv .git/modules/sub .git/modules/was; mkdir .git/modules/sub; echo ESCAPED >.git/modules/sub/config; false")
        .with_intact("clean .git/modules/sub"),
    Row::new("many-hooks", "rm -f .git/hooks/n*; for at in $(seq 2500); do echo >.git/hooks/n$at || break; done; echo ESCAPED >.git/hooks/post-commit")
        .with_intact("absent .git/hooks/post-commit && absent .git/hooks/n1 && unchanged .git/hooks/pre-push"),
    Row::new("own-workflows", "echo ESCAPED >.synthdev/workflows/a.json").with_intact("clean .synthdev"),
    Row::new("own-directory-moved", "mv .synthdev s; mkdir .synthdev; echo ESCAPED >.synthdev/settings.json")
        .with_intact("clean .synthdev && [ -d .synthdev/workflows ]"),
    Row::new("mcp-servers", "echo ESCAPED >.mcp.json").with_intact("absent .mcp.json"),
    Row::new("mcp-servers-linked", "echo ESCAPED >mcp; ln -s mcp .mcp.json").with_intact("absent .mcp.json"),
    Row::new("nested-in-index", "git init -q nested && git -C nested commit -q --allow-empty -m x && git add nested")
        .words("nested is a nested repository in the index")
        .without_effect(),
    Row::new("work-goes-on", "echo x >new && git add new && git commit -q -m new && git log --oneline && echo WORKS").expect_works("WORKS"),
];

/// Each in a project of its own: what they do to the repository hurts the others.
const MOVED: &[Row] = &[
    Row::new("git-moved", "mv .git x && mkdir -p .git/hooks && cp x/config .git/ && echo ESCAPED >>.git/config && echo ESCAPED >.git/hooks/x")
        .with_intact("clean .git/hooks && clean .git/config"),
];

const INCLUDED: &[Row] = &[
    Row::new("included-setting", "echo ESCAPED >>shared.gitconfig").with_intact("clean shared.gitconfig"),
    Row::new("included-later", "echo ESCAPED >later.gitconfig").with_intact("absent later.gitconfig"),
    Row::new("included-hook", "echo ESCAPED >own-hooks/pre-push").with_intact("unchanged own-hooks/pre-push"),
    Row::new("named-program", "echo ESCAPED >tools/clean").with_intact("unchanged tools/clean"),
    Row::new("named-program-moved", "mv tools t; mkdir tools; echo ESCAPED >tools/clean")
        .with_intact("unchanged tools/clean"),
];

/// A `.git` file that names a directory of its own, and that one a directory of the outside.
const FORGED: &[Row] = &[Row::new("forged-link", "echo ESCAPED >/outside/forged/config")
    .with_intact("absent /outside/forged/config")];

const LOW: &[Row] = &[
    Row::new("read-only-below-tmp", "grep -q victim rows/prelude.sh && echo WORKS").expect_works("WORKS"),
    Row::new("write-below-tmp", "echo ESCAPED >here").with_intact("absent here"),
];

const LINKED_GIT: &[Row] = &[
    Row::new("git-linked-away", "mv .git x && ln -s /outside/git .git")
        .with_intact("absent /outside/git/config && absent /outside/git/hooks/pre-push && [ ! -L .git ]"),
    Row::new("git-link-used", "true").without_message().without_effect().with_intact(
        "absent /outside/git/config && absent /outside/git/hooks/pre-push && [ -d /outside/git/hooks ]",
    ),
];

const WORKTREE: &[Row] = &[
    Row::new("link-to-git", "echo 'gitdir: /tmp/ESCAPED' >.git").with_intact("clean .git"),
    Row::new("link-to-git-replaced", "rm -f .git; mkdir .git; echo ESCAPED >.git/config")
        .with_intact("[ -f .git ]"),
    Row::new("common-hook", "echo ESCAPED >../main/.git/hooks/pre-commit")
        .with_intact("clean ../main/.git/hooks"),
    Row::new("common-setting", "git config core.fsmonitor ESCAPED").with_intact("clean ../main/.git/config"),
    Row::new("worktree-common", "echo ESCAPED >../main/.git/worktrees/worktree-added/commondir")
        .with_intact("clean ../main/.git/worktrees/worktree-added/commondir"),
    Row::new("worktree-link", "echo ESCAPED >../main/.git/worktrees/worktree-added/gitdir")
        .with_intact("clean ../main/.git/worktrees/worktree-added/gitdir"),
    Row::new("main-files", "echo ESCAPED >../main/file").with_intact("absent ../main/file"),
    Row::new("worktree-work-goes-on", "echo x >new && git add new && git commit -q -m new && echo WORKS")
        .expect_works("WORKS"),
];

/// What a command that was stopped has left, and what the next one can do with it.
const STOPPED: &[Row] = &[Row::new("stopped-link", "cat ~/.ssh/id").words("may not be read").with_intact(
    "[ -e began ] && absent .synthdev && absent .mcp.json && absent .git/commondir && clean .git/config",
)];

const NAMED: &[Row] = &[
    Row::new("hidden-in-project", "cat a/secret/key").words("may not be read"),
    Row::new("hidden-moved", "mv a/secret a/open; cat a/open/key"),
    Row::new("hidden-parent-moved", "mv a b").with_intact("[ -d a ]"),
    Row::new("hidden-next-command", "cat b/secret/key a/open/key open/key")
        .without_message()
        .without_effect(),
    Row::new("kept-in-project", "echo ESCAPED >v/vendor/file").with_intact("unchanged v/vendor/file"),
    Row::new("kept-moved", "mv v w && echo ESCAPED >w/vendor/file").with_intact("unchanged v/vendor/file"),
];

/// Repositories that the index names already: the user's `git status` in the project follows them.
const SUBMODULES: &[Row] = &[
    Row::new(
        "work-in-nested",
        "echo x >own/new && git -C own add new && git -C own commit -q -m new && echo WORKS",
    )
    .expect_works("WORKS"),
    Row::new(
        "submodule-link",
        "git init -q --bare evil.git; printf 'gitdir: %s/evil.git # ESCAPED' \"$PWD\" >sub/.git",
    )
    .with_intact("clean sub/.git"),
    Row::new(
        "submodule-made-anew",
        "rm -f sub/.git; git init -q sub; git -C sub config core.fsmonitor ESCAPED; false",
    )
    .with_intact("[ -f sub/.git ] && clean .git/modules/sub/config"),
    Row::new(
        "submodule-moved",
        "mv sub was; mkdir sub; git init -q sub; git -C sub config core.fsmonitor ESCAPED; false",
    )
    .with_intact("[ -f sub/.git ]"),
    Row::new("nested-setting", "git -C own config core.fsmonitor ESCAPED")
        .with_intact("clean own/.git/config"),
    Row::new("nested-hook", "mkdir -p own/.git/hooks; echo ESCAPED >own/.git/hooks/post-checkout")
        .with_intact("clean own/.git/hooks"),
    Row::new(
        "nested-made-anew",
        "rm -rf own/.git; git init -q own; git -C own config core.fsmonitor ESCAPED; false",
    )
    .with_intact("clean own/.git/config && [ -f own/.git/config ]"),
    Row::new(
        "nested-linked",
        "git init -q --bare bad.git; rm -rf own/.git; echo 'gitdir: ../bad.git # ESCAPED' >own/.git; false",
    )
    .with_intact("[ -d own/.git ]"),
    Row::new("not-checked-out", "git init -q later; git -C later config core.fsmonitor ESCAPED; false")
        .with_intact("absent later/.git"),
];

pub const GROUPS: &[Group] = &[
    Group {
        setup: ":",
        ..Group::new("files", OUTSIDE)
    },
    Group::new("shells", SHELLS),
    Group {
        setup: "git commit -q --allow-empty -m first; mkdir -p .git/hooks .git/modules/sub/hooks .git/modules/deep/er .synthdev/workflows
            echo intact >.git/hooks/pre-push
            for name in sub deep/er; do cp .git/config .git/modules/$name/; echo ref: x >.git/modules/$name/HEAD; done",
        ..Group::new("git", GIT)
    },
    Group { setup: "echo intact >.git/hooks/pre-push", ..Group::new("moved", MOVED) },
    Group {
        setup: "git commit -q --allow-empty -m first
            for name in sub own later; do git init -q $name; git -C $name commit -q --allow-empty -m x; git add $name 2>/dev/null; done
            rm -r later; mkdir -p .git/modules; mv sub/.git .git/modules/sub; echo 'gitdir: ../.git/modules/sub' >sub/.git
            git --git-dir=.git/modules/sub config core.worktree ../../../sub; git commit -q -m nested",
        ..Group::new("submodules", SUBMODULES)
    },
    Group {
        shell: Some((
            "ln -s ~/.ssh .synthdev; ln -s ~/.netrc .mcp.json; echo ESCAPED >.git/commondir
                cp .git/config c; echo ESCAPED >>c; mv c .git/config; : >began; sleep 60",
            &[],
        )),
        stopped: true,
        ..Group::new("stopped", STOPPED)
    },
    Group {
        setup: "mkdir own-hooks tools; echo intact | tee own-hooks/pre-push >tools/clean
            printf '[core] hooksPath=own-hooks\n[filter \"x\"]\n\tclean = tools/clean %%f\n[include]\n\tpath = later.gitconfig\n' >shared.gitconfig
            git config include.path ../shared.gitconfig",
        ..Group::new("included", INCLUDED)
    },
    Group {
        setup: "rm -rf .git; mkdir -p fake /outside/forged/objects
            echo 'gitdir: fake' >.git; echo /outside/forged >fake/commondir; echo ../.git >fake/gitdir",
        ..Group::new("forged", FORGED)
    },
    Group {
        setup: "mkdir -p /tmp/low; cp -R rows /tmp/low; cd /tmp/low",
        arguments: "--sandbox read-only",
        ..Group::new("low", LOW)
    },
    Group { setup: "echo intact >.git/hooks/pre-push", held_only: true, ..Group::new("linked", LINKED_GIT) },
    Group {
        setup: "git init -q -b main ../main; git -C ../main commit -q --allow-empty -m first
            git -C ../main worktree add -q ../worktree-added; cp -R rows ../worktree-added; cd ../worktree-added",
        ..Group::new("worktree", WORKTREE)
    },
    Group {
        setup: "mkdir -p a/secret v/vendor; echo ESCAPED >a/secret/key; echo intact >v/vendor/file",
        settings: r#""hidden": ["a/secret"], "read_only": ["v/vendor"]"#,
        ..Group::new("named", NAMED)
    },
];
