//! Other processes, processes that stay, the network, and the kernel.

use super::row::{Group, Layer, Row};

const PROCESSES: &[Row] = &[
    Row::new("kill", "kill -0 $victim && echo ESCAPED").told_by_landlock(),
    Row::new(
        "kill-by-file",
        "perl -e 'my $fd = syscall(434, $ARGV[0] + 0, 0); if ($fd < 0) { print STDERR \"pidfd_open: $!\\n\"; exit 1 }
            if (syscall(424, $fd, 0, 0, 0) < 0) { print STDERR \"pidfd_send_signal: $!\\n\"; exit 1 } print \"ESCAPED\\n\"' $victim",
    )
    .told_by_landlock(),
    Row::new("kill-all", "kill -9 -1; sleep 0.01; true").with_intact("kill -0 $victim").without_message().only_held(),
    Row::new("limit-other", "call prlimit64 302 $victim 4 0 0").told_by_landlock(),
    Row::new("attach", "call ptrace 101 16 $victim 0 0"),
    Row::new("attach-own", "sleep 1 & call ptrace 101 16 $! 0 0").without_effect(),
    Row::new("compare-files", "call kcmp 312 $victim $victim 0 0 0").without_effect(),
    Row::new("take-file", "call pidfd_getfd 438 0 0 0").without_effect(),
    Row::new(
        "type-for-the-user",
        "perl -e 'open(T, \"+<\", \"/dev/ptmx\") or die \"/dev/ptmx: $!\\n\"; my $c = \"x\";
            ioctl(T, 0x5412, $c) and print \"ESCAPED\\n\" or die \"TIOCSTI: $!\\n\"'",
    )
    .without_effect(),
    Row::new("no-terminal", "echo ESCAPED >/dev/tty; true").without_message().without_effect(),
    Row::new("no-new-privileges", "grep -q 'NoNewPrivs:.1' /proc/self/status && echo WORKS").expect_works("WORKS"),
    Row::new("no-capabilities", "grep -q 'CapEff:.0*$' /proc/self/status && grep -q 'CapPrm:.0*$' /proc/self/status && echo WORKS")
        .expect_works("WORKS"),
    Row::new("become-root", "su -c 'echo ESCAPED' </dev/null 2>&1; true").without_message().without_effect(),
];

/// Outside of bubblewrap they would be seen by what they write to the project's directory later.
const STAYING: &[Row] = &[
    Row::new("session", "setsid sh -c 'sleep 0.4; echo ESCAPED >stayed-session' >/dev/null 2>&1 &")
        .with_intact("absent stayed-session")
        .without_message(),
    Row::new(
        "double-fork",
        "( setsid sh -c '( sleep 0.4; echo ESCAPED >stayed-double ) & ' >/dev/null 2>&1 & )",
    )
    .with_intact("absent stayed-double")
    .without_message(),
    Row::new("hook-later", "setsid sh -c 'sleep 0.4; echo ESCAPED >.git/hooks/post-merge' >/dev/null 2>&1 &")
        .with_intact("absent .git/hooks/post-merge")
        .without_message(),
    Row::new("no-hang-up", "nohup sh -c 'sleep 0.4; echo ESCAPED >stayed-nohup' >/dev/null 2>&1 &")
        .with_intact("absent stayed-nohup")
        .without_message()
        .without_effect(),
];

const NETWORK: &[Row] = &[
    Row::new("tcp", "reach tcp 7001").with_intact("absent /log/tcp").words("network is off"),
    Row::new("udp", "reach udp 7002").with_intact("absent /log/udp-7002"),
    Row::new("socket-file", "reach unix /outside/socket").with_intact("absent /log/unix"),
    Row::new("socket-file-in-project", "reach unix $HOME/files/outside.socket").with_intact("absent /log/project"),
    Row::new("abstract", "reach abstract escape").with_intact("absent /log/abstract"),
    Row::new("names", "getent hosts outside.example || { echo 'getent: Temporary failure in name resolution'; false; }")
        .with_intact("absent /log/udp-53"),
    Row::new("internet", "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) && connect(S, pack_sockaddr_in(80, inet_aton(\"192.0.2.1\"))) or die \"connect: $!\\n\"; print \"ESCAPED\\n\"'")
        .without_effect(),
    Row::new("link-made", "ip link add escape type dummy 2>&1 || { echo 'RTNETLINK answers: Operation not permitted'; false; }")
        .with_intact("! ip link show escape >/dev/null 2>&1")
        .without_effect(),
    Row::new("virtual-machine-socket", "call socket 41 40 1 0").without_effect(),
    Row::new("packet-socket", "call socket 41 17 3 0"),
    Row::new("crypto-socket", "call socket 41 38 5 0").without_effect(),
    Row::new("raw-socket", "call socket 41 2 3 1"),
    Row::new(
        "own-loopback",
        "perl -MSocket -e 'socket(L, PF_INET, SOCK_STREAM, 0) && bind(L, pack_sockaddr_in(7003, INADDR_LOOPBACK)) && listen(L, 1) or die \"$!\";
            socket(C, PF_INET, SOCK_STREAM, 0) && connect(C, pack_sockaddr_in(7003, INADDR_LOOPBACK)) or die \"$!\"; print \"WORKS\\n\"'",
    )
    .expect_works("WORKS")
    .only_on(Layer::Bubblewrap),
    Row::new(
        "own-socket-file",
        "perl -MSocket -e 'socket(L, PF_UNIX, SOCK_STREAM, 0) && bind(L, pack_sockaddr_un(\"own.socket\")) && listen(L, 1) or die \"$!\";
            socket(C, PF_UNIX, SOCK_STREAM, 0) && connect(C, pack_sockaddr_un(\"own.socket\")) or die \"$!\"; print \"WORKS\\n\"'",
    )
    .expect_works("WORKS")
    .only_on(Layer::Bubblewrap),
    Row::new("socket-pair", "perl -MSocket -e 'socketpair(A, B, PF_UNIX, SOCK_STREAM, 0) or die \"$!\"; print \"WORKS\\n\"'").expect_works("WORKS"),
];

const NETWORK_ON: &[Row] = &[
    Row::new("network-on", "reach tcp 7001 >/dev/null && echo WORKS").expect_works("WORKS"),
    Row::new("abstract-with-network", "reach abstract escape").with_intact("absent /log/abstract"),
    Row::new("socket-file-with-network", "reach unix /outside/socket").with_intact("absent /log/unix"),
    Row::new(
        "link-down-with-network",
        "ip link set lo down 2>&1 && echo ESCAPED && ip link set lo up || { echo 'Operation not permitted'; false; }",
    )
    .without_effect(),
];

/// The workflow declares 7004 and 7005; nothing listens at 7005.
const PORTS: &[Row] = &[
    Row::new("declared-port", "reach tcp 7004 >/dev/null && echo WORKS").expect_works("WORKS").only_on(Layer::Bubblewrap),
    Row::new(
        "declared-port-by-the-other-address",
        "[ -e /proc/net/if_inet6 ] || { echo WORKS; exit; }
        perl -MSocket=:all -e 'socket(S, PF_INET6, SOCK_STREAM, 0) && connect(S, pack_sockaddr_in6(7004, inet_pton(AF_INET6, \"::1\"))) or die \"connect: $!\n\";
            recv(S, my $text, 100, 0); print $text =~ /declared/ ? \"WORKS\n\" : \"nothing\n\"'",
    )
    .expect_works("WORKS")
    .only_on(Layer::Bubblewrap),
    Row::new(
        "many-connections",
        "for at in 1 2 3 4 5 6 7 8 9 10 11 12; do reach tcp 7004 >>many; done; [ \"$(grep -c declared many)\" = 12 ] && echo WORKS",
    )
    .expect_works("WORKS")
    .only_on(Layer::Bubblewrap),
    Row::new("no-socket-of-the-forwarder", "ls -l /proc/self/fd/ | grep socket: && echo ESCAPED; true").without_message().without_effect(),
    Row::new("no-right-of-the-listener", "grep -q 'CapEff:.0*$' /proc/self/status && grep -q 'CapPrm:.0*$' /proc/self/status && grep -q 'CapAmb:.0*$' /proc/self/status && echo WORKS")
        .expect_works("WORKS"),
    Row::new("undeclared-port", "reach tcp 7001")
        .with_intact("absent /log/tcp")
        .words("but for the ports of this machine that the workflow declares (7004, 7005)")
        .only_on(Layer::Bubblewrap),
    Row::new("undeclared-port-in-packets", "reach udp 7002").with_intact("absent /log/udp-7002"),
    Row::new("declared-port-without-a-server", "reach tcp 7005")
        .words("nothing listens at 127.0.0.1 on this machine at what the workflow declares: port 7005")
        .without_effect()
        .only_on(Layer::Bubblewrap),
    Row::new("declared-port-with-landlock", "reach tcp 7004")
        .with_intact("absent /log/declared")
        .words("also for the ports that the workflow declares (7004, 7005), as landlock cannot open single ports")
        .only_on(Layer::Landlock),
];
const PORTS_OF_CALLER: &[Row] =
    &[Row::new("port-of-the-calling-workflow", "reach tcp 7004").words("network is off: ")];
const PORTS_CLOSED: &[Row] =
    &[Row::new("port-closed-by-the-user", "reach tcp 7004").words("network is off: ")];

/// What a role says of the network, against what the settings say. That the server answers shows `role-of-user-loosens`.
const ROLE_OFF: &[Row] = &[Row::new("role-off-beats-settings-on", "reach tcp 7001")];
const PROJECT_ROLE: &[Row] = &[Row::new("role-of-project-does-not-loosen", "reach tcp 7001")];
const PROJECT_ROLE_OFF: &[Row] = &[Row::new("role-of-project-makes-stricter", "reach tcp 7001")];
const USERS_ROLE: &[Row] =
    &[Row::new("role-of-user-loosens", "reach tcp 7001 >/dev/null && echo WORKS").expect_works("WORKS")];
const USERS_ROLE_CHANGED: &[Row] = &[Row::new("role-of-user-that-a-project-changes", "reach tcp 7001")];
const FLAG: &[Row] = &[Row::new("flag-beats-role-of-user", "reach tcp 7001")];

const USERS_ON: &str = "mkdir $HOME/.config/synthdev/roles
    echo '{\"coder\": {\"sandbox\": {\"network\": \"on\"}}}' >$HOME/.config/synthdev/roles/own.json";
const USERS_ON_CHANGED: &str = "mkdir -p $HOME/.config/synthdev/roles .synthdev/roles
    echo '{\"coder\": {\"sandbox\": {\"network\": \"on\"}}}' >$HOME/.config/synthdev/roles/own.json
    echo '{\"coder\": {\"description\": \"Ours\"}}' >.synthdev/roles/own.json";
const USERS_OFF: &str = "mkdir $HOME/.config/synthdev/roles
    echo '{\"coder\": {\"sandbox\": {\"network\": \"off\"}}}' >$HOME/.config/synthdev/roles/own.json";
const PROJECTS_ON: &str = "mkdir -p .synthdev/roles
    echo '{\"coder\": {\"sandbox\": {\"network\": \"on\"}}}' >.synthdev/roles/own.json";
const PROJECTS_OFF: &str = "mkdir -p .synthdev/roles
    echo '{\"coder\": {\"sandbox\": {\"network\": \"off\"}}}' >.synthdev/roles/own.json";

const KERNEL: &[Row] = &[
    Row::new("mount", "mount -t tmpfs x /outside/git 2>&1 || { echo 'mount: Operation not permitted'; false; }").without_effect(),
    Row::new("mount-call", "call mount 165 @none @/outside/git @tmpfs 0 0"),
    Row::new("bind-mount", "mkdir -p here; call mount 165 @/outside @here @x 4096 0"),
    Row::new("unmount", "call umount2 166 @/proc 2").only_held(),
    Row::new("open-tree", "call open_tree 428 -100 @/outside 1"),
    Row::new("filesystem-opened", "call fsopen 430 @tmpfs 0"),
    Row::new("user-namespace", "call unshare 272 0x10000000"),
    Row::new("mount-namespace", "call unshare 272 0x20000"),
    Row::new("unshare", "unshare -U echo ESCAPED"),
    Row::new("cloned-namespace", "call clone 56 0x10000011 0 0 0 0"),
    Row::new("clone3", "perl -e 'my $a = pack(\"Q11\", 0x10000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0); my $r = syscall(435, $a, 88);
        if ($r < 0) { print STDERR \"clone3: $!\\n\"; exit 1 } print \"ESCAPED\\n\"'"),
    Row::new("other-namespace", "call setns 308 0 0").without_effect(),
    Row::new("change-root", "call chroot 161 @/outside"),
    Row::new("pivot-root", "call pivot_root 155 @/ @/").without_effect(),
    Row::new("ring", "perl -e 'my $p = \"\\0\" x 120; my $r = syscall(425, 1, $p); if ($r < 0) { print STDERR \"io_uring_setup: $!\\n\"; exit 1 }
        print \"ESCAPED\\n\"'")
        .without_effect(),
    Row::new("bpf", "call bpf 321 0 0 0").without_effect(),
    Row::new("performance-counters", "call perf_event_open 298 0 0 -1 -1 0").without_effect(),
    Row::new("keyring", "call keyctl 250 0 -3 1"),
    Row::new("key-added", "call add_key 248 @user @x @x 1 -3"),
    Row::new("page-faults", "call userfaultfd 323 1").without_effect(),
    Row::new("file-handle", "call open_by_handle_at 304 -100 @x 0").without_effect(),
    Row::new("module", "call init_module 175 0 0 @x").without_effect(),
    Row::new("other-kernel", "call kexec_load 246 0 0 0 0").without_effect(),
    Row::new("reboot", "call reboot 169 0 0 0 0").without_effect(),
    Row::new("swap", "call swapon 167 @x 0").without_effect(),
    Row::new("clock", "call clock_settime 227 0 0").without_effect(),
    Row::new("host-name", "call sethostname 170 @x 1").without_effect(),
    Row::new("kernel-log", "call syslog 103 3 0 0").without_effect(),
    Row::new("other-table", "call 'unshare of x32' 1073742096 0x10000000").without_effect(),
    Row::new("core-pattern", "echo '|/tmp/ESCAPED' >/proc/sys/kernel/core_pattern").without_effect(),
    Row::new("sysrq", "echo s >/proc/sysrq-trigger").without_message().without_effect(),
    Row::new(
        "memory-file",
        "perl -e 'my $name = \"x\"; my $fd = syscall(319, $name, 0); open(my $file, \">&=\", $fd);
            syswrite($file, \"echo WORKS\\n\"); system(\"sh\", \"/proc/$$/fd/$fd\")'",
    )
    .expect_works("WORKS"),
];

/// Writes what the outside would run for us.
const PLANTED: &[Row] = &[
    Row::new(
        "programs-of-search-path",
        "mkdir -p bin; for name in sh env bwrap git ps true synthdev; do
            printf '#!/bin/sh\\necho ESCAPED >>/outside/planted-%s\\nexec %s \"$@\"\\n' $name \"$(command -v $name || echo false)\" >bin/$name; chmod 755 bin/$name; done",
    )
    .without_message()
    .without_effect()
    .with_intact("! ls /outside/planted-* 2>/dev/null"),
    Row::new("programs-used", "/bin/true").with_intact("! ls /outside/planted-*").without_message().without_effect(),
];

const PRELOADED: &[Row] = &[Row::new("variables-of-a-state", "/bin/true")
    .with_intact("! ls /outside/loaded*")
    .without_message()
    .without_effect()];

const NESTED: &[Row] = &[
    Row::new("nested-repository", "git init -q sub && git -C sub config core.fsmonitor 'echo >/outside/monitor' && git -C sub commit -q --allow-empty -m x; git add sub; echo '* filter=x' >.gitattributes; true")
        .without_message()
        .without_effect()
        .with_intact("absent /outside/monitor"),
    Row::new("nested-repository-used", "git init -q other; echo x >file").with_intact("absent /outside/monitor").without_message().without_effect(),
];

const LIMITED: &[Row] = &[
    // more than its limit, which counts from what runs beside it; 8000 is that of the throw-away root: there is none
    Row::new(
        "forks",
        "perl -e 'open L, q(</proc/self/limits); my ($limit) = map { /^Max processes +([0-9]+)/ } <L>;
        my $most = $limit >= 8000 ? 300 : $limit + 100; my $n = 0;
        for (1..$most) { my $p = fork; if (!defined $p) { print STDERR \"fork: $!\\n\"; kill 9, @p; exit 1 }
        if (!$p) { sleep 5; exit } push @p, $p; $n++ } kill 9, @p; print \"ESCAPED: $n\\n\"'",
    )
    .words("sandbox.max_processes"),
    Row::new("disk", "head -c 9000000 /dev/zero >large")
        .with_intact("[ \"$(stat -c %s large)\" -le 4194304 ]")
        .words("sandbox.max_file_mb"),
    Row::new("memory", "perl -e '$x = \"x\" x 400000000; print \"ESCAPED\\n\"'")
        .words("sandbox.max_memory_mb"),
    Row::new("output", "head -c 60000000 /dev/zero | tr '\\0' x").without_message().without_effect(),
    Row::new("after-limits", "echo WORKS").expect_works("WORKS"),
];

pub const GROUPS: &[Group] = &[
    Group::new("processes", PROCESSES),
    Group { late: true, ..Group::new("staying", STAYING) },
    Group { ports: &[7004, 7005], ..Group::new("declared-ports", PORTS) },
    Group { ports: &[7004], called: true, ..Group::new("declared-ports-of-caller", PORTS_OF_CALLER) },
    Group {
        ports: &[7004],
        settings: r#""workflow_ports": false"#,
        ..Group::new("declared-ports-closed", PORTS_CLOSED)
    },
    Group::new("network", NETWORK),
    Group { arguments: "--sandbox-network on", ..Group::new("network-on", NETWORK_ON) },
    Group { setup: USERS_OFF, settings: r#""network": "on""#, ..Group::new("network-role-off", ROLE_OFF) },
    Group {
        setup: PROJECTS_ON,
        settings: r#""network": "off""#,
        arguments: "--trust",
        ..Group::new("network-role-project", PROJECT_ROLE)
    },
    Group {
        setup: PROJECTS_OFF,
        settings: r#""network": "on""#,
        arguments: "--trust",
        ..Group::new("network-role-project-off", PROJECT_ROLE_OFF)
    },
    Group { setup: USERS_ON, settings: r#""network": "off""#, ..Group::new("network-role-user", USERS_ROLE) },
    Group {
        setup: USERS_ON_CHANGED,
        settings: r#""network": "off""#,
        arguments: "--trust",
        ..Group::new("network-role-changed", USERS_ROLE_CHANGED)
    },
    Group { setup: USERS_ON, arguments: "--sandbox-network off", ..Group::new("network-role-flag", FLAG) },
    Group::new("kernel", KERNEL),
    Group { setup: "search_path=$PWD/bin:$PATH", held_only: true, ..Group::new("planted", PLANTED) },
    Group {
        shell: Some((
            "true",
            &[
                ("LD_DEBUG", "libs"),
                ("LD_DEBUG_OUTPUT", "/outside/loaded"),
                ("PATH", "/nothing:/usr/bin:/bin"),
            ],
        )),
        held_only: true,
        ..Group::new("preloaded", PRELOADED)
    },
    Group { setup: "git commit -q --allow-empty -m first", ..Group::new("nested", NESTED) },
    Group {
        settings: r#""max_processes": 100, "max_file_mb": 4, "max_memory_mb": 300"#,
        ..Group::new("limited", LIMITED)
    },
];
