import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { CheckResult } from "../../core/doctor/checks.ts";
import { LABELS } from "../../core/app/container.ts";
import { networksOf } from "../../core/app/networks.ts";
import { restartText } from "../../core/deployment/failure.ts";
import type { AppRecord } from "../../core/records.ts";
import { EngineError } from "../../engine/engine-error.ts";
import { enginePrefix } from "../../engine/engine-prefix.ts";
import { needsEngineRestart } from "../../engine/engine-troubles.ts";
import { bad, good, installedApps, type Probe, type ProbeContext, settingsOf, warning } from "../probe.ts";

const RESTART = "Restart it, which restarts the apps too: sudo systemctl restart docker";
const DAEMON_FILE = "/etc/docker/daemon.json";

/** The engine starts containers with ports on the network of apps: tried by a helper that runs nothing. */
export const probePublishing: Probe = (context, signal) => tryPublishing(context, signal, "/proc");

/** @param proc mount point of procfs */
export async function tryPublishing(context: ProbeContext, signal: AbortSignal, proc: string): Promise<CheckResult> {
  const app = await findApp(context);
  if (!app) return good("Not tried: there is no app, and so no image to try it with.");
  const { state_dir: stateDir } = settingsOf(context);
  try {
    const [network] = networksOf(app.spec, enginePrefix(stateDir));
    const isThere = network && (await context.engine.networks.inspect(network.name, signal)) !== undefined;
    const request = {
      name: app.name,
      image: app.imageId,
      labels: { [LABELS.app]: app.name, [LABELS.stateDir]: stateDir },
      environment: [],
      ports: [{ hostPort: 0, targetPort: 80 }],
      volumes: [],
      hostNetwork: false,
      ...(isThere && { network: { name: network.name, aliases: [] } }),
      privileged: false,
      restartPolicy: "no" as const,
      logLimit: { maxBytes: 100_000, maxFiles: 1 },
    };
    await context.engine.tryStart(request, signal);
  } catch (error) {
    if (signal.aborted)
      return warning(
        "Not known: the engine did not start a container in time.",
        "It is busy, or hangs: see what takes the processor (top), and try again.",
      );
    if (needsEngineRestart(error)) return bad(restartText(error.kind).replace(/ On the device: .*/, ""), RESTART);
    if (!(error instanceof EngineError)) throw error;
    const next =
      error.kind === "no_addresses"
        ? "Set networks.subnets in the configuration to a range that is free in the device's networks."
        : "See the engine's own log: sudo journalctl -u docker";
    return bad(`The engine cannot start a container with a port: ${error.message}.`, next);
  }
  if (await leavesFirewallAlone())
    return warning(
      `Docker does not manage the device's firewall (iptables: false in ${DAEMON_FILE}): apps reach other networks, and are reached, only by rules of your own.`,
      "Remove that setting and restart Docker, unless rules of your own do its work.",
    );
  if (!(await forwardsPackets(proc)))
    return warning(
      "The kernel does not forward packets (net.ipv4.ip_forward = 0): apps do not reach other machines, nor these them.",
      "sudo sysctl -w net.ipv4.ip_forward=1, and remove what turns it off: grep -rs ip_forward /etc/sysctl.conf /etc/sysctl.d",
    );
  return good("The engine starts containers with ports.");
}

async function findApp(context: ProbeContext): Promise<AppRecord | undefined> {
  const apps = await installedApps(context);
  return apps.find(({ spec }) => !spec.host_network && spec.network !== "none") ?? apps[0];
}

/** The engine turns it on when it starts; settings of the system that are loaded later may turn it off. */
async function forwardsPackets(proc: string): Promise<boolean> {
  // Absent on a kernel that shows no such setting.
  return (await readFile(join(proc, "sys/net/ipv4/ip_forward"), "utf8").catch(() => "1")).trim() !== "0";
}

async function leavesFirewallAlone(): Promise<boolean> {
  // Without the file the engine has its defaults.
  return /"iptables"\s*:\s*false/.test(await readFile(DAEMON_FILE, "utf8").catch(() => ""));
}
