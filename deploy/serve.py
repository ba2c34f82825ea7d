"""Serve Headlight to a school: several Streamlit processes on this machine, behind nginx.

    python deploy/serve.py --processes 2 --port 8080                      # for browsers on this machine
    python deploy/serve.py --processes 4 --port 80 --address 0.0.0.0      # for everybody who can reach it

On two machines that reach each other at 10.0.0.1 and 10.0.0.2:

    export HEADLIGHT_STORE=redis://10.0.0.1:6379                                                # on both, for classes
    python deploy/serve.py --processes 4 --no-nginx --address 10.0.0.2 --port 8501              # on the second
    python deploy/serve.py --processes 4 --address 0.0.0.0 --port 80 --also 10.0.0.2:8501-8504  # on the first

nginx comes from Debian (`apt-get install nginx-light`). Its configuration is `nginx.conf` in this folder, with the
addresses filled in. A process that ends is started again. Ctrl-C ends all of them.

The processes share classes and codes in the store that HEADLIGHT_STORE names. Without it, those of one machine share a
temporary file, and those of several machines have no classes.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

__all__ = ["configuration", "nginx"]

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = Path(__file__).with_name("nginx.conf")
PROCESS, LISTEN = "127.0.0.1:8501", "127.0.0.1:8080"  # the addresses in the template
MAIN_CONFIGURATION = """daemon off;
pid nginx.pid;
error_log stderr crit;
worker_processes auto;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {}
}}
"""


def configuration(processes: Sequence[str], listen: str) -> str:
    """The template, with each line about its one process repeated for every process.

    Args:
        processes: `address:port` of each. The addresses are IPv4 addresses, because nginx compares them as text.
        listen: `address:port` for visitors.
    """
    lines = []
    for line in TEMPLATE.read_text(encoding="utf-8").splitlines():
        escaped = re.escape(PROCESS)
        if line.startswith("#") or (PROCESS not in line and escaped not in line):
            lines.append(line.replace(LISTEN, listen))
            continue
        for number, process in enumerate(processes, start=1):
            new = line.replace(PROCESS, process).replace(escaped, re.escape(process))
            lines.append(re.sub(r"\bp1\b", f"p{number}", new))
    return "\n".join(lines)


@contextmanager
def nginx(processes: Sequence[str], listen: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run nginx before these processes, with all its files in a temporary folder. It listens when this yields."""
    program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
    if program is None:
        raise SystemExit("nginx is not installed. On Debian: apt-get install nginx-light")
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        Path(folder).chmod(0o711)  # if root starts nginx, its workers are not root
        Path(folder, "nginx.conf").write_text(
            MAIN_CONFIGURATION.format(configuration(processes, listen)), encoding="utf-8"
        )
        child = subprocess.Popen([program, "-e", "stderr", "-p", folder, "-c", "nginx.conf"])
        try:
            address, _, port = listen.rpartition(":")
            if not works(lambda: socket.create_connection((address, int(port)), timeout=1).close(), child):
                raise SystemExit(f"nginx cannot listen at {listen}. Its message is above.")
            yield child
        finally:
            end_processes([child])


def works(attempt: Callable[[], None], child: subprocess.Popen[bytes]) -> bool:
    """Try until it works. False if the process has ended before."""
    while child.poll() is None:
        with suppress(OSError):
            attempt()
            return True
        time.sleep(0.1)
    return False


class Processes:
    """The app's processes on this machine: address → child."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses = addresses
        self.children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, process: str) -> threading.Thread:
        """Start the app and run it once in another thread, so that no visitor waits for the import of torch."""
        address, _, port = process.rpartition(":")
        options = {"address": address, "port": port, "headless": "true", "scriptHealthCheckEnabled": "true"}
        command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py"]
        command += [f"--server.{name}={value}" for name, value in options.items()]
        environment = os.environ | {"HEADLIGHT_PROCESSES": str(len(self.addresses))}  # they share this machine
        child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
        self.children[process] = child
        print(f"The app at {process} is process {child.pid}.", flush=True)
        check = f"http://{process}/_stcore/script-health-check"  # it runs the app
        thread = threading.Thread(target=works, args=(lambda: urlopen(check, timeout=120).close(), child), daemon=True)
        thread.start()
        return thread

    def start_all(self) -> None:
        """Start all processes. Returns when each has run the app once."""
        for thread in [self.start(process) for process in self.addresses]:
            thread.join()
        if any(child.poll() is not None for child in self.children.values()):
            raise SystemExit("The app did not start. Its message is above.")

    def keep_running(self, until: subprocess.Popen[bytes] | None = None) -> None:
        """Start processes again when they end. Returns when `until` has ended."""
        while until is None or until.poll() is None:
            for process, child in list(self.children.items()):
                if child.poll() is not None:
                    print(
                        f"The app at {process} has ended with status {child.returncode}. It is started again.",
                        flush=True,
                    )
                    self.start(process)
            time.sleep(0.5)


def end_processes(children: Iterable[subprocess.Popen[bytes]]) -> None:
    children = list(children)
    for child in children:
        child.terminate()
    for child in children:
        try:
            child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def free_ports(count: int, *, without: int) -> list[int]:
    """Ports that are free now. The port for visitors is not among them, because nginx needs it later."""
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count + 1)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        found = [probe.getsockname()[1] for probe in probes]
    return [port for port in found if port != without][:count]


def require_free(place: str) -> None:
    address, _, port = place.rpartition(":")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, int(port)))
        except (OSError, OverflowError) as error:
            raise SystemExit(
                f"The server cannot listen at {place}: {error}. Choose another place with --address and --port."
            ) from None


def remote_processes(text: str) -> list[str]:
    """`10.0.0.2:8501-8504` as four processes."""
    host, _, ports = text.rpartition(":")
    first, _, last = ports.partition("-")
    try:
        address = socket.gethostbyname(host)
        return [f"{address}:{port}" for port in range(int(first), int(last or first) + 1)]
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(
            f"{text} is not an address such as 10.0.0.2:8501 or 10.0.0.2:8501-8504: {error}"
        ) from None


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of processes. Write 1 or more.")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--processes",
        type=at_least_one,
        default=os.cpu_count(),
        help="number of processes on this machine; best: one per core",
    )
    parser.add_argument("--address", default="127.0.0.1", help="address for visitors; 0.0.0.0 for the whole network")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument(
        "--also",
        type=remote_processes,
        action="extend",
        default=[],
        metavar="ADDRESS:PORTS",
        help="processes on other machines",
    )
    parser.add_argument(
        "--no-nginx",
        action="store_true",
        help="start only the processes, from --port on, for the nginx of another machine",
    )
    parser.add_argument(
        "--print", action="store_true", dest="only_print", help="print nginx's configuration and start nothing"
    )
    given = parser.parse_args()
    if given.no_nginx:
        local = [f"{given.address}:{given.port + i}" for i in range(given.processes)]
    else:
        local = [f"127.0.0.1:{port}" for port in free_ports(given.processes, without=given.port)]
    listen = f"{given.address}:{given.port}"
    if given.only_print:
        print(configuration([f"127.0.0.1:{8501 + i}" for i in range(given.processes)] + given.also, listen))
        return
    for ending in (signal.SIGINT, signal.SIGTERM):  # a background job of a shell may ignore Ctrl-C
        signal.signal(ending, signal.default_int_handler)
    for place in local if given.no_nginx else [listen]:
        require_free(place)
    with tempfile.TemporaryDirectory(prefix="headlight-") as folder:
        several_machines = given.no_nginx or given.also
        os.environ.setdefault("HEADLIGHT_STORE", "none" if several_machines else f"{folder}/store.sqlite")
        serve(Processes(local), given, listen)


def serve(processes: Processes, given: argparse.Namespace, listen: str) -> None:
    """Run the processes, and nginx before them, until Ctrl-C."""
    try:
        processes.start_all()
        if given.no_nginx:
            processes.keep_running()
        with nginx([*processes.addresses, *given.also], listen) as proxy:
            print(f"Headlight is at http://{listen}. Press Ctrl-C to end it.", flush=True)
            processes.keep_running(until=proxy)
        raise SystemExit("nginx has ended. Its message is above.")
    except KeyboardInterrupt:
        print("Ended.")
    finally:
        end_processes(processes.children.values())


if __name__ == "__main__":
    main()
