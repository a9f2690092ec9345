#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs the recipes of replay/docs/shards.md: GNU parallel over two hosts, a job array of Slurm with two nodes, and the
command of the Kubernetes Job for each index. The merged report must be that of one run.

    hosts.py ROCEDRILL SOURCE parallel|slurm|kubernetes

Both hosts are this machine: an sshd of this test on 127.0.0.1 and 127.0.0.2, and munged, slurmctld and two slurmd of
this test. All of them end with the test. The manifest of the Job is compared with the fields of the API, not run by
Kubernetes.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import jsonschema
import yaml

ROCEDRILL, SOURCE, RECIPE = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
CAPTURES = 12
PATH = os.path.dirname(ROCEDRILL) + ":/usr/sbin:/usr/bin:/sbin:/bin"
daemons = []


def fail(text):
    sys.exit(f"hosts.py {RECIPE}: {text}")


def block(heading, language):
    """Returns the block of a language below a heading of the document."""
    with open(os.path.join(SOURCE, "replay/docs/shards.md"), encoding="utf-8") as file:
        text = file.read()
    return re.search(rf"^## {heading}\n.*?```{language}\n(.*?)```", text, re.M | re.S).group(1)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def write(path, text, mode=0o600):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def start(log, *words, env=None):
    with open(log, "wb") as out:
        daemons.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env))


def wait_for(what, ready):
    end = time.monotonic() + 60
    while not ready():
        if time.monotonic() > end or any(d.poll() is not None for d in daemons):
            fail(f"{what} does not start")
        time.sleep(0.1)


def answers(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def shell(command, folder, **env):
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=150,
                          env={**os.environ, "PATH": PATH, **env})
    if done.returncode:
        fail(f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def parallel(folder):
    port, = free_ports(1)
    ssh = os.path.join(folder, "ssh")
    os.mkdir(ssh, 0o700)
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{ssh}/{key}"], check=True)
    if os.getuid() == 0:
        os.makedirs("/run/sshd", 0o755, exist_ok=True)
    write(f"{ssh}/sshd_config", f"Port {port}\nListenAddress 127.0.0.1\nListenAddress 127.0.0.2\nHostKey {ssh}/host\n"
          f"AuthorizedKeysFile {ssh}/user.pub\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n"
          f"UsePAM no\nStrictModes no\nPidFile none\nSetEnv PATH={PATH}\n")
    write(f"{ssh}/config", "".join(f"Host host{i}\n HostName 127.0.0.{i}\n Port {port}\n" for i in (1, 2)) +
          f"Host *\n IdentityFile {ssh}/user\n IdentitiesOnly yes\n StrictHostKeyChecking no\n"
          f" UserKnownHostsFile {ssh}/known\n LogLevel ERROR\n")
    start(f"{ssh}/log", "/usr/sbin/sshd", "-D", "-e", "-f", f"{ssh}/sshd_config")
    wait_for("sshd", lambda: answers(port))
    shell(block("GNU parallel", "sh"), folder, PARALLEL=f"--ssh 'ssh -F {ssh}/config' --joblog {ssh}/jobs")
    with open(f"{ssh}/jobs", encoding="utf-8") as file:
        hosts = {line.split("\t")[1] for line in file.readlines()[1:]}
    if hosts != {"host1", "host2"}:
        fail(f"the parts ran on {hosts}")


SLURM = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port[0]}
AuthType=auth/munge
AuthInfo=socket={dir}/munge.sock
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool_%n
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd_%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={port[1]} CPUs=1 RealMemory=100 State=UNKNOWN
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={port[2]} CPUs=1 RealMemory=100 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES State=UP
"""


def slurm(folder):
    base = os.path.join(folder, "slurm")
    os.makedirs(f"{base}/state", 0o755)
    user = os.environ.get("USER", "root") if os.getuid() else "root"
    write(f"{base}/slurm.conf", SLURM.format(host=socket.gethostname().split(".")[0], port=free_ports(3), dir=base,
                                             user=user), 0o644)
    with open(f"{base}/munge.key", "wb") as file:
        file.write(os.urandom(128))
    os.chmod(f"{base}/munge.key", 0o400)
    start(f"{base}/munged.log", "munged", "--foreground", "--force", f"--key-file={base}/munge.key",
          f"--socket={base}/munge.sock", f"--pid-file={base}/munged.pid", f"--seed-file={base}/munge.seed")
    wait_for("munged", lambda: os.path.exists(f"{base}/munge.sock"))
    env = {**os.environ, "PATH": PATH, "SLURM_CONF": f"{base}/slurm.conf"}
    start(f"{base}/slurmctld.log", "slurmctld", "-D", "-i", env=env)
    for node in ("n1", "n2"):
        start(f"{base}/{node}.log", "slurmd", "-D", "-N", node, env=env)

    def both_idle():
        found = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], capture_output=True, text=True, env=env).stdout
        return found.split() == ["idle", "idle"]

    wait_for("Slurm", both_idle)
    shell(block("Slurm", "sh"), folder, SLURM_CONF=f"{base}/slurm.conf")
    hosts = set(re.findall(r"BatchHost=(\w+)", subprocess.run(["scontrol", "show", "job"], capture_output=True, text=True,
                                                             env=env).stdout))
    if hosts != {"n1", "n2"}:
        fail(f"the parts ran on {hosts}")


# The fields of a Job that the recipe may use, from the API reference of Kubernetes (batch/v1, core/v1). The API server
# rejects or drops any other.
NAME = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
COUNT = {"type": "integer", "minimum": 1}


def fields(required, **properties):
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def list_of(item):
    return {"type": "array", "items": item, "minItems": 1}


JOB = fields(
    ["apiVersion", "kind", "metadata", "spec"],
    apiVersion={"const": "batch/v1"}, kind={"const": "Job"}, metadata=fields(["name"], name=NAME),
    spec=fields(
        ["completions", "parallelism", "completionMode", "template"],
        completions=COUNT, parallelism=COUNT, completionMode={"const": "Indexed"}, backoffLimit=COUNT,
        template=fields(["spec"], spec=fields(
            ["restartPolicy", "containers", "volumes"],
            restartPolicy={"enum": ["Never", "OnFailure"]},
            containers=list_of(fields(
                ["name", "image", "command", "args"], name=NAME, image={"type": "string"}, workingDir={"type": "string"},
                command=TEXTS, args=TEXTS,
                volumeMounts=list_of(fields(["name", "mountPath"], name=NAME, mountPath={"type": "string"})))),
            volumes=list_of(fields(["name", "persistentVolumeClaim"], name=NAME,
                                   persistentVolumeClaim=fields(["claimName"], claimName=NAME)))))))


def kubernetes(folder):
    job = yaml.safe_load(block("Kubernetes", "yaml"))
    jsonschema.validate(job, JOB)
    spec = job["spec"]
    pod = spec["template"]["spec"]
    container, = pod["containers"]
    if spec["parallelism"] > spec["completions"]:
        fail("more pods at a time than completions")
    if {m["name"] for m in container["volumeMounts"]} != {v["name"] for v in pod["volumes"]}:
        fail("the volumes of the container are not those of the pod")
    if container["workingDir"] not in {m["mountPath"] for m in container["volumeMounts"]}:
        fail("the working folder, where the reports are written, is not on a volume")
    if "JOB_COMPLETION_INDEX" not in container["args"][-1] or f"/{spec['completions']} " not in container["args"][-1]:
        fail("the command does not use the index of the pod and the number of completions")
    for index in range(spec["completions"]):
        done = subprocess.run([*container["command"], *container["args"]], cwd=folder,
                              env={**os.environ, "PATH": PATH, "JOB_COMPLETION_INDEX": str(index)})
        if done.returncode:
            fail(f"index {index}: status {done.returncode}")
    shell("rocedrill merge --junit replay.xml part-*.json", folder)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/captures")
        source = os.path.join(SOURCE, "traces/captures")
        for name in sorted(n for n in os.listdir(source) if n.endswith(".pcap"))[:CAPTURES]:
            shutil.copy(f"{source}/{name}", f"{folder}/captures")
        single = shell("rocedrill replay --junit single.xml captures", folder)
        try:
            {"parallel": parallel, "slurm": slurm, "kubernetes": kubernetes}[RECIPE](folder)
        finally:
            for daemon in reversed(daemons):
                daemon.send_signal(signal.SIGTERM)
                try:
                    daemon.wait(20)
                except subprocess.TimeoutExpired:
                    daemon.kill()
        if shell("rocedrill merge part-*.json", folder) != single:
            fail("the merged text differs from that of a single run")
        with open(f"{folder}/single.xml", encoding="utf-8") as one, open(f"{folder}/replay.xml", encoding="utf-8") as many:
            if one.read() != many.read():
                fail("the merged JUnit differs from that of a single run")


if __name__ == "__main__":
    main()
