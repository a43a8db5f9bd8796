//! A filter of system calls: no keys pressed into a terminal, no limits set for other processes (a
//! limit on processor time kills). Everything else passes, whatever machine code it is.

use seccompiler::sock_filter;

/// Source: `asm-generic/ioctls.h`. The kernel looks at the lower half of the argument alone.
const TIOCSTI: u32 = 0x5412;

/// One machine code as `seccomp(2)` names it, and its numbers of the two calls. Source:
/// `linux/audit.h` and the tables of system calls.
struct Machine {
    audit: u32,
    ioctl: &'static [u32],
    prlimit: &'static [u32],
}

/// Marks calls of the x32 code among those of x86-64.
const X32: u32 = 0x4000_0000;

const MACHINES: &[Machine] = if cfg!(target_arch = "x86_64") {
    &[
        Machine { audit: 0xC000_003E, ioctl: &[16, X32 + 514], prlimit: &[302, X32 + 302] },
        Machine { audit: 0x4000_0003, ioctl: &[54], prlimit: &[340] },
    ]
} else if cfg!(target_arch = "aarch64") {
    &[
        Machine { audit: 0xC000_00B7, ioctl: &[29], prlimit: &[261] },
        Machine { audit: 0x4000_0028, ioctl: &[54], prlimit: &[369] },
    ]
} else if cfg!(target_arch = "riscv64") {
    &[Machine { audit: 0xC000_00F3, ioctl: &[29], prlimit: &[261] }]
} else {
    &[]
};

/// Sets the filter for this process and all that it starts. Gives up new privileges, too.
pub(super) fn enter() -> Result<(), String> {
    if MACHINES.is_empty() {
        return Err("this processor's system calls are not known".into());
    }
    seccompiler::apply_filter(&program()).map_err(|error| error.to_string())
}

// Of `linux/bpf_common.h`: load a word, jump if equal, return.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x15;
const RETURN: u16 = 0x06;
// Of `linux/seccomp.h`: where the words are, and what to return.
const NUMBER: u32 = 0;
const MACHINE: u32 = 4;
const ALLOW: u32 = 0x7FFF_0000;
const DENY: u32 = 0x0005_0000 | nix::libc::EPERM as u32;

/// The lower half of an argument; the upper is four bytes behind, as all these machines have it.
const fn argument(number: u32) -> u32 {
    16 + 8 * number
}

fn program() -> Vec<sock_filter> {
    let mut program = Vec::new();
    for machine in MACHINES {
        let mut rules = Vec::new();
        for call in machine.ioctl {
            rules.extend([
                load(NUMBER),
                jump(*call, 0, 3),
                load(argument(1)),
                jump(TIOCSTI, 0, 1),
                give(DENY),
            ]);
        }
        for call in machine.prlimit {
            // Of another process (0 is the caller), and not only to read.
            rules.extend([
                load(NUMBER),
                jump(*call, 0, 7),
                load(argument(0)),
                jump(0, 5, 0),
                load(argument(2)),
                jump(0, 0, 2),
                load(argument(2) + 4),
                jump(0, 1, 0),
                give(DENY),
            ]);
        }
        let length = u8::try_from(rules.len()).expect("a few rules");
        program.extend([load(MACHINE), jump(machine.audit, 0, length)]);
        program.extend(rules);
    }
    program.push(give(ALLOW));
    program
}

fn load(from: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: from }
}

/// How many instructions are skipped when the loaded word is `word`, and when not.
fn jump(word: u32, equal: u8, other: u8) -> sock_filter {
    sock_filter { code: JUMP, jt: equal, jf: other, k: word }
}

fn give(what: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: what }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program as the kernel does.
    fn verdict(machine: u32, call: u32, arguments: [u64; 3]) -> u32 {
        let word = |at: u32| match at {
            NUMBER => call,
            MACHINE => machine,
            at => {
                let argument = arguments[(at as usize - 16) / 8];
                let half = if at % 8 == 0 { argument } else { argument >> 32 };
                u32::try_from(half & 0xFFFF_FFFF).unwrap()
            }
        };
        let (program, mut at, mut loaded) = (program(), 0, 0);
        loop {
            let step = &program[at];
            at += 1;
            match step.code {
                LOAD => loaded = word(step.k),
                JUMP => at += usize::from(if loaded == step.k { step.jt } else { step.jf }),
                _ => return step.k,
            }
        }
    }

    #[test]
    fn only_keys_and_others_limits_are_refused() {
        for machine in MACHINES {
            let rules = machine.ioctl.iter().map(|call| (call, true));
            for (call, ioctl) in rules.chain(machine.prlimit.iter().map(|call| (call, false))) {
                let verdict = |arguments| verdict(machine.audit, *call, arguments);
                if ioctl {
                    assert_eq!(verdict([0, 0x5412, 1]), DENY);
                    assert_eq!(
                        verdict([0, 0xFFFF_FFFF_0000_5412, 1]),
                        DENY,
                        "the upper half is nothing"
                    );
                    assert_eq!(verdict([0, 0x5413, 1]), ALLOW);
                } else {
                    assert_eq!(verdict([4711, 0, 1]), DENY);
                    assert_eq!(verdict([4711, 0, 1 << 40]), DENY);
                    assert_eq!(verdict([0, 0, 1 << 40]), ALLOW, "its own");
                    assert_eq!(verdict([4711, 0, 0]), ALLOW, "reading");
                }
            }
            assert_eq!(verdict(machine.audit, 1, [4711, 0x5412, 1]), ALLOW);
        }
        assert_eq!(verdict(1, 16, [0, 0x5412, 0]), ALLOW);
    }
}
