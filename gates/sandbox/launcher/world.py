"""The world of a sandboxed program: its file system, and the privileges that it gives up."""

from __future__ import annotations

import contextlib
import os
import resource
import stat

from .kernel import (
    NEW_USER,
    NODEV,
    NOEXEC,
    NOSUID,
    RDONLY,
    clear_capabilities,
    clone_tree,
    die_with_parent,
    install_filter,
    make_mounts_private,
    mount,
    move_tree,
    pivot_root_here,
    set_attributes,
    set_dumpable,
    unshare,
)
from .wire import BOOT, Config

__all__ = [
    "INNER_ID",
    "SHARED_MEMORY",
    "TEMPORARY",
    "be_expendable",
    "become_nobody",
    "bound_processes",
    "bubblewrap_command",
    "build_root",
    "enter_user_namespace",
    "is_roots_own_namespace",
    "limit",
    "lock",
    "mount_private",
]


# Who the program is to itself.
INNER_ID = 1000


def _write(proc: int | None, name: str, text: str) -> None:
    path = f"/proc/self/{name}" if proc is None else f"self/{name}"
    file = os.open(path, os.O_WRONLY, dir_fd=proc)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def enter_user_namespace(proc: int | None = None) -> None:
    """Enter a new user namespace whose only user is this process's, as `INNER_ID`.

    `proc` is a /proc that can be written to where the mounted one can't.
    """
    user, group = os.geteuid(), os.getegid()
    unshare(NEW_USER)
    # A change of credentials takes /proc/self away from its owner until this is set again.
    set_dumpable(True)
    _write(proc, "setgroups", "deny")
    _write(proc, "gid_map", f"{INNER_ID} {group} 1")
    _write(proc, "uid_map", f"{INNER_ID} {user} 1")


def be_expendable(proc: int | None = None) -> None:
    """Where the whole machine runs out of memory, the kernel is to take this first.

    With privileges nothing below this can take it back.
    """
    # What can't be traced can't write to its own /proc/self either.
    set_dumpable(True)
    with contextlib.suppress(OSError):
        _write(proc, "oom_score_adj", "1000")


def is_roots_own_namespace() -> bool:
    """Whether root here is the machine's; in a user namespace it is some other user."""
    with open("/proc/self/uid_map") as file:
        return file.read().split() == ["0", "0", "4294967295"]


def become_nobody(outer_id: int, privileged: bool, proc: int) -> None:
    """Stop being root, then own nothing but a user namespace.

    In a container whose root is the only user there is, and no root outside, it stays that one.
    """
    if privileged and outer_id != 0:
        os.setgroups([])
        os.setresgid(outer_id, outer_id, outer_id)
        os.setresuid(outer_id, outer_id, outer_id)
    # The other namespaces belong to the one before it: in there nothing can be asked of them.
    enter_user_namespace(proc)


def lock(filter_code: bytes) -> None:
    """Drop all capabilities and shut the doors; a later change of credentials would undo this."""
    clear_capabilities()
    install_filter(filter_code)
    set_dumpable(False)
    die_with_parent()


def limit(rlimits: dict[str, tuple[int, int]]) -> None:
    """Set this process's limits (soft, hard); its children inherit them."""
    for name, (soft, hard) in rlimits.items():
        kind = getattr(resource, name, None)
        if kind is None:
            continue
        _, allowed = resource.getrlimit(kind)
        if allowed != resource.RLIM_INFINITY:
            soft, hard = min(soft, allowed), min(hard, allowed)
        resource.setrlimit(kind, (soft, hard))


def bound_processes(more: int) -> bool:
    """Let this user have `more` processes and threads; return whether that is enforced.

    Without a user namespace the kernel counts everything of the user's. It doesn't count root's;
    and in a container it may count what can't be seen from here, and nothing could be started.
    """
    if os.getuid() == 0:
        return False
    most = _tasks_of(os.getuid()) + more
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, hard))
    try:
        child = os.fork()
    except OSError:
        resource.setrlimit(resource.RLIMIT_NPROC, (hard, hard))
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return True


def _tasks_of(user: int) -> int:
    """Count a user's processes and threads, as far as /proc shows them."""
    count = 0
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        try:
            with open(f"/proc/{name}/status") as file:
                status = dict(line.split(":", 1) for line in file)
        except OSError:  # It has ended.
            continue
        if int(status["Uid"].split()[0]) == user:
            count += int(status["Threads"])
    return count


TEMPORARY, SHARED_MEMORY = "/tmp", "/dev/shm"  # noqa: S108 - the sandbox's own
_SKELETON = ("proc", "dev")
# A file takes a page, so more files than this are empty ones.
_BYTES_PER_FILE = 4096


def _device(path: str) -> bool:
    return stat.S_ISCHR(os.stat(path).st_mode)


def _temporary(path: str) -> bool:
    return path.startswith(f"{TEMPORARY}/")


def _link(config: Config, root: str, *, temporary: bool) -> None:
    for target, path in config["symlinks"]:
        if _temporary(path) == temporary:
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.symlink(target, root + path)


def _attach(tree: int, place: str, is_folder: bool) -> None:
    """Put a cloned tree at a place that need not exist yet."""
    if is_folder:
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "a"):
            pass
    move_tree(tree, place)
    os.close(tree)


def build_root(config: Config) -> list[int]:
    """Replace the root by one with only what `config` names; return `mount_private`'s."""
    make_mounts_private()
    wanted = [*config["binds"], *config["devices"]]
    trees: list[tuple[str, int, bool]] = []
    for source, target in wanted:
        tree = clone_tree(source)
        # Set before the tree is attached: there is no moment in which it can be written.
        set_attributes(tree, RDONLY | NOSUID | (NOEXEC if _device(source) else NODEV))
        trees.append((target, tree, os.path.isdir(source)))
    # Any folder will do: once it is the root, what it covers is out of reach with the rest.
    mount("tmpfs", "/tmp", "tmpfs", NOSUID | NODEV, "size=1m,mode=0755")  # noqa: S108
    os.chdir("/tmp")  # noqa: S108
    for name in _SKELETON:
        os.mkdir(name)
    for target, tree, is_folder in sorted(trees):
        _attach(tree, "." + target, is_folder)
    _link(config, ".", temporary=False)
    for path in config["masks"]:
        mount("tmpfs", "." + path, "tmpfs", RDONLY | NOSUID | NODEV, "size=4k,mode=0555")
    # While the machine's /proc is still here: without it an unprivileged user may mount none.
    handles = mount_private(config, ".")
    pivot_root_here()
    set_attributes(-1, RDONLY | NOSUID | NODEV, "/")
    return handles


def mount_private(config: Config, root: str) -> list[int]:
    """Mount what is the program's own: three folders with a size, and its own /proc.

    What is shown of the machine below its temporary folder moves into the program's own. Returns
    descriptors of the folders and of a /proc that shows all of the sandbox's processes and that
    can be written to.
    """
    shown = [target for _, target in config["binds"] if _temporary(target)]
    trees = [(clone_tree(root + path), path, os.path.isdir(root + path)) for path in shown]
    owner = INNER_ID if config["own_user"] else config["outer_id"]
    size = config["disk_bytes"]
    options = f"size={size},nr_inodes={max(256, size // _BYTES_PER_FILE)}"
    handles: list[int] = []
    for path in (config["work"], TEMPORARY, SHARED_MEMORY):
        place = root + path
        os.makedirs(place, exist_ok=True)
        mount(
            "tmpfs", place, "tmpfs", NOSUID | NODEV, f"{options},mode=0700,uid={owner},gid={owner}"
        )
        handles.append(os.open(place, os.O_RDONLY | os.O_DIRECTORY))
    for tree, path, is_folder in trees:
        _attach(tree, root + path, is_folder)
    _link(config, root, temporary=True)
    proc = root + "/proc"
    mount("proc", proc, "proc", NOSUID | NODEV | NOEXEC, "subset=pid")
    handles.append(os.open(proc, os.O_RDONLY | os.O_DIRECTORY))
    # The program's own /proc: PID 1 and whatever else it may not trace is not listed, and what is
    # in it (how soon the kernel ends whom, for one) can't be changed.
    mount("proc", proc, "proc", RDONLY | NOSUID | NODEV | NOEXEC, "subset=pid,hidepid=4")
    return handles


def bubblewrap_command(config: Config, code: str, line: int) -> list[str]:
    """Return the command that starts PID 1 on the socket `line`.

    PID 1 keeps its capabilities until it has mounted the program's own folders and has shut the
    doors. The launcher's code lies where the work folder will cover it.
    """
    work = config["work"]
    command = [
        *(config["bubblewrap"], "--die-with-parent", "--new-session", "--as-pid-1", "--clearenv"),
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--hostname", "sandbox", "--cap-add", "ALL"),
    ]
    if config["own_user"]:
        command += ["--unshare-user", "--uid", str(INNER_ID), "--gid", str(INNER_ID)]
    targets = [target for _, target in config["binds"]] + [path for _, path in config["symlinks"]]
    for folder in [*_ancestors(targets), "/proc", TEMPORARY, SHARED_MEMORY]:
        command += ["--dir", folder]
    for source, target in config["binds"]:
        command += ["--ro-bind", source, target]
    for target, path in config["symlinks"]:
        # PID 1 makes the others, in the program's own temporary folder.
        if not path.startswith(f"{TEMPORARY}/"):
            command += ["--symlink", target, path]
    for path in config["masks"]:
        command += ["--tmpfs", path, "--remount-ro", path]
    command += ["--proc", "/proc"]
    for source, target in config["devices"]:
        command += ["--dev-bind", source, target]
    for name in sorted(os.listdir(code)):
        if name.endswith(".py"):
            command += ["--ro-bind", f"{code}/{name}", f"{work}/{name}"]
    python = [config["python"], "-I", "-S", "-B", "-c", BOOT, work, "init", str(line)]
    return [*command, "--remount-ro", "/", "--", *python]


def _ancestors(paths: list[str]) -> list[str]:
    """Return the folders above `paths`: bubblewrap would make them, except for root alone."""
    found: set[str] = set()
    for path in paths:
        while (path := os.path.dirname(path)) != "/":
            found.add(path)
    return sorted(found)
