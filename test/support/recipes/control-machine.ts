import { readdir } from "node:fs/promises";
import type { Device } from "../device/device.ts";
import { documented } from "../documentation.ts";
import { waitFor } from "../wait-for.ts";

const FOLDER = "/opt/edge-control";
const CONFIG_FOLDER = "/etc/edge-control";
export const RECIPE = "packaging/recipes/systemd";

/** Installs edge-control on a machine with systemd, and starts it, by the commands of docs/service-setup.md as they are printed. */
export async function installRecipe(machine: Device): Promise<void> {
  await machine.succeed("mkdir -p /root/dist");
  const programs = (await readdir("dist")).filter((name) => /^(node$|edge-control)/.test(name));
  for (const name of [...programs.filter((file) => !file.endsWith(".map")), "lib", "console", "systemd"]) {
    await machine.copy(`dist/${name}`, `/root/dist/${name}`);
  }
  await machine.succeed(`cd /root && ${documented("docs/service-setup.md", "As a service")}`);
}

/** Writes a file that only the service and root read. */
export async function writeForService(machine: Device, name: string, content: string): Promise<void> {
  const path = `${CONFIG_FOLDER}/${name}`;
  await machine.succeed(`install -m 640 -o root -g edge-control /dev/null ${path} && cat > ${path}`, content);
}

/** Runs an administration command as the service's user, and returns the printed JSON. */
export async function administer(machine: Device, command: string): Promise<Record<string, string>> {
  const output = await machine.succeed(`runuser -u edge-control -- ${FOLDER}/edge-control ${command} --json`);
  return JSON.parse(output) as Record<string, string>;
}

/** Runs a script on the machine with the Node.js of edge-control. */
const nodeCommand = (script: string): string => `LD_LIBRARY_PATH=${FOLDER}/lib ${FOLDER}/node -e '${script}'`;

/** The status of a request to an instance on the machine; 0 if there is no response. */
export async function statusOf(machine: Device, url: string, apiKey?: string): Promise<number> {
  const headers = JSON.stringify(apiKey === undefined ? {} : { "X-API-Key": apiKey });
  const script = `fetch("${url}", { headers: ${headers} }).then((r) => r.status, () => 0).then((s) => console.log(s))`;
  return Number(await machine.succeed(nodeCommand(script)));
}

/** Forwards a port on the machine's loopback to an address outside until the machine ends. */
export async function forwardPort(machine: Device, port: number, host: string, target: number): Promise<void> {
  const script = `
    const net = require("node:net");
    net.createServer((near) => {
      const far = net.connect(${target}, "${host}");
      for (const [side, other] of [[near, far], [far, near]]) side.on("error", () => other.destroy());
      near.pipe(far).pipe(near);
    }).listen(${port}, "127.0.0.1");
  `;
  const file = `/opt/forward-${port}.cjs`;
  await machine.write(file, script);
  const environment = `--setenv=LD_LIBRARY_PATH=${FOLDER}/lib`;
  await machine.succeed(`systemd-run --unit=forward-${port} ${environment} ${FOLDER}/node ${file}`);
}

export async function mainPid(machine: Device, unit: string): Promise<number> {
  return Number(await machine.succeed(`systemctl show ${unit} -p MainPID --value`));
}

/** Waits until the unit has been started again with another process, and is ready. */
export async function untilReplaced(machine: Device, unit: string, pid: number): Promise<void> {
  const look = async (): Promise<boolean> => {
    const state = (await machine.run(`systemctl is-active ${unit}`)).stdout.trim();
    return state === "active" && ![0, pid].includes(await mainPid(machine, unit));
  };
  // The watchdog of a unit takes up to 25 s.
  await waitFor(`${unit} to be started again`, look);
}

/** Exposure of a unit by systemd's measure, 0 to 10, and the settings that it finds relaxed. */
export async function exposureOf(machine: Device, unit: string): Promise<{ exposure: number; relaxed: string[] }> {
  const report = await machine.succeed(`systemd-analyze security ${unit} --no-pager`);
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(report)?.[1]);
  return { exposure, relaxed: [...report.matchAll(/^✗ (\w+)=/gm)].map(([, name = ""]) => name) };
}
