//! System calls that no command needs and that lead around the other walls. Compiled once, applied by the kernel.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Which sockets a command may make.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SocketPolicy {
    /// Of its own network namespace, and between its own processes.
    OwnNetwork,
    /// Of the internet. Not of this machine's services that listen on files.
    Internet,
    None,
}

impl SocketPolicy {
    pub fn name(self) -> &'static str {
        match self {
            Self::OwnNetwork => "own-network",
            Self::Internet => "internet",
            Self::None => "none",
        }
    }
}

/// Refused with an error in every case: other processes, keyrings, mounts, namespaces, the kernel itself.
const DENIED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_syslog,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    libc::SYS_vhangup,
];

/// Reported as missing, so that programs use another call: `clone3` hides its flags from filters, and a ring of
/// requests makes system calls that no filter sees.
const MISSING: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Flags of `clone` and `unshare` that make namespaces.
const NAMESPACES: [i32; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];

/// Requests to a terminal that type for the user, and that paste a selection.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541C];

/// # Errors
/// The filter is none for this processor.
pub fn denying_filter(sockets: SocketPolicy) -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let is = |argument, value| filter_condition(argument, SeccompCmpOp::Eq, value);
    rules.insert(
        libc::SYS_ioctl,
        TERMINAL_INPUT
            .iter()
            .map(|request| filter_rule(vec![is(1, *request)?]))
            .collect::<io::Result<_>>()?,
    );
    for call in [libc::SYS_unshare, libc::SYS_clone] {
        let new = NAMESPACES.iter().filter(|flag| call == libc::SYS_unshare || **flag != 0x80).map(|flag| {
            let flag = u64::from(flag.unsigned_abs());
            filter_rule(vec![filter_condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])
        });
        rules.insert(call, new.collect::<io::Result<_>>()?);
    }
    rules.insert(libc::SYS_socket, socket_rules(sockets)?);
    if sockets != SocketPolicy::OwnNetwork {
        // limits of other processes: no layer but a namespace of processes keeps a command from them
        rules
            .insert(libc::SYS_prlimit64, vec![filter_rule(vec![filter_condition(0, SeccompCmpOp::Ne, 0)?])?]);
    }
    compile_filter(rules, libc::EPERM)
}

/// Sockets of the internet, where there is none: programs say so in words that they have for it.
///
/// # Errors
/// As `denying_filter`.
pub fn no_network() -> io::Result<BpfProgram> {
    let families = [libc::AF_INET, libc::AF_INET6].map(|family| u64::from(family.unsigned_abs()));
    let rules =
        families.iter().map(|family| filter_rule(vec![filter_condition(0, SeccompCmpOp::Eq, *family)?]));
    let rules = rules.collect::<io::Result<_>>()?;
    compile_filter(BTreeMap::from([(libc::SYS_socket, rules)]), libc::ENETUNREACH)
}

/// All processes of the user at once. Only if the kernel cannot distinguish those of the command from others.
///
/// # Errors
/// As `denying_filter`.
pub fn signals_to_all() -> io::Result<BpfProgram> {
    let to_all = filter_rule(vec![filter_condition(0, SeccompCmpOp::Eq, u64::from(u32::MAX))?])?;
    compile_filter(BTreeMap::from([(libc::SYS_kill, vec![to_all])]), libc::EPERM)
}

/// # Errors
/// As `denying_filter`.
pub fn missing_calls_filter() -> io::Result<BpfProgram> {
    compile_filter(MISSING.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS)
}

/// Both filters as one program, which the kernel runs once for each call of a command: what the first allows, the second
/// decides.
///
/// # Errors
/// As `denying_filter`.
pub fn denying_and_missing_filter(sockets: SocketPolicy) -> io::Result<BpfProgram> {
    let (mut program, next) = (missing_calls_filter()?, denying_filter(sockets)?);
    let jump = u16::try_from(libc::BPF_JMP | libc::BPF_JA).map_err(io::Error::other)?;
    let mut left = u32::try_from(program.len()).map_err(io::Error::other)?;
    for instruction in &mut program {
        left -= 1;
        let returns = u32::from(instruction.code) == libc::BPF_RET | libc::BPF_K;
        if returns && instruction.k == libc::SECCOMP_RET_ALLOW {
            (instruction.code, instruction.k) = (jump, left);
        }
    }
    program.extend(next);
    Ok(program)
}

fn socket_rules(sockets: SocketPolicy) -> io::Result<Vec<SeccompRule>> {
    let allowed: &[i32] = match sockets {
        // refused by `no_network`
        SocketPolicy::None => &[libc::AF_INET, libc::AF_INET6],
        SocketPolicy::Internet => &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        SocketPolicy::OwnNetwork => &[libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
    };
    let others =
        allowed.iter().map(|family| filter_condition(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
    Ok(vec![filter_rule(others.collect::<io::Result<_>>()?)?])
}

fn filter_condition(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(io::Error::other)
}

fn filter_rule(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn compile_filter(rules: BTreeMap<i64, Vec<SeccompRule>>, error: i32) -> io::Result<BpfProgram> {
    let processor = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let action = SeccompAction::Errno(error.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, processor);
    let program = filter.and_then(BpfProgram::try_from).map_err(io::Error::other)?;
    Ok(without_second_table(program))
}

/// Kernels for x86_64 may have a second table of system calls with the same numbers and one bit more, which the rules do
/// not name.
#[cfg(target_arch = "x86_64")]
fn without_second_table(program: BpfProgram) -> BpfProgram {
    const SECOND_TABLE: u32 = 0x4000_0000;
    let load_number = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0);
    let skip_if_below = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, SECOND_TABLE);
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    let refuse = (libc::BPF_RET | libc::BPF_K, 0, 0, missing);
    let first = [load_number, skip_if_below, refuse].into_iter().filter_map(|(code, jt, jf, k)| {
        Some(seccompiler::sock_filter { code: u16::try_from(code).ok()?, jt, jf, k })
    });
    first.chain(program).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn without_second_table(program: BpfProgram) -> BpfProgram {
    program
}

/// As the kernel reads it.
pub fn program_bytes(program: &BpfProgram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() * 8);
    for instruction in program {
        bytes.extend_from_slice(&instruction.code.to_ne_bytes());
        bytes.push(instruction.jt);
        bytes.push(instruction.jf);
        bytes.extend_from_slice(&instruction.k.to_ne_bytes());
    }
    bytes
}
