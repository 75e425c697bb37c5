import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AgentSettings, startAgent, stateDirectory, waitUntilOnline } from "../../scripts/system/agent.ts";
import { startControlPlane } from "../../scripts/system/control-plane.ts";
import { removeApps } from "../../scripts/system/remove-apps.ts";
import { run } from "../support/command.ts";
import { loadImage, sleeperImage, uniqueName } from "../support/images.ts";
import { tempDir } from "../support/temp-dir.ts";
import { engineSocket } from "./engine-socket.ts";
import { median, milliseconds, type Paired, paired } from "./measure.ts";
import { processorMs, proportionalBytes } from "./process-usage.ts";
import { type Bench, inMegabytes, inMilliseconds, type Row } from "./result.ts";
import { deployed } from "./system.ts";

/** An agent of one of the builds, with a device of its own. */
interface Build {
  readonly executable: string;
  readonly folder: string;
  readonly settings: AgentSettings;
  readonly target: { readonly url: string; readonly apiKey: string; readonly asset: string };
}

/** This build of the agent beside another one (`--baseline DIR`, the `dist/` of another checkout), in one run. */
export const beforeAfter: Bench = {
  name: "before-after",
  isOnRequest: true,
  async run({ quick, baseline }) {
    if (baseline === undefined || !existsSync(join(baseline, "edge-agent"))) {
      throw new Error("before-after needs --baseline DIR, a dist/ with another build of edge-agent");
    }
    const rounds = quick ? 2 : 30;
    await using folder = await tempDir();
    await using control = await startControlPlane(folder.path);
    await using image = await loadImage(await engineSocket(), await sleeperImage(), "bench");
    const prepare = async (name: string, dist: string): Promise<Build> => {
      const executable = join(resolve(dist), "edge-agent");
      const { deviceToken, apiKey } = await control.register(name, name.toUpperCase());
      const device = join(folder.path, name);
      return {
        executable,
        folder: device,
        settings: {
          controlPlaneUrl: control.agentUrl,
          deviceToken,
          executable,
          config: { deploy: { settle_window_s: 0 } },
        },
        target: { url: control.url, apiKey, asset: name.toUpperCase() },
      };
    };
    const after = await prepare("after", "dist");
    const before = await prepare("before", baseline);
    const online = await paired(
      rounds,
      () => timeToOnline(after),
      () => timeToOnline(before),
    );
    await using owned = new AsyncDisposableStack();
    const builds = [after, before] as const;
    const agents = [];
    for (const { folder: device, settings, target } of builds) {
      owned.defer(() => removeApps(stateDirectory(device)));
      const agent = owned.use(await startAgent(device, settings));
      await waitUntilOnline(agent);
      await deployed(target, { name: uniqueName("idle"), image: image.reference });
      agents.push(agent);
    }
    const status = await paired(
      rounds,
      () => timeOfStatus(after),
      () => timeOfStatus(before),
    );
    // Garbage of the deployment is collected within a minute: see `idle-gc.ts`.
    await sleep(quick ? 2_000 : 80_000);
    const windowMs = quick ? 5_000 : 600_000;
    const used = agents.map(({ pid }) => processorMs(pid));
    await sleep(windowMs);
    const percent = agents.map(({ pid }, index) => ((processorMs(pid) - (used[index] ?? 0)) / windowMs) * 100);
    const memory = agents.map(({ pid }) => proportionalBytes(pid));
    return {
      data: { baseline, rounds, online, status, windowMs, percent, memory },
      rows: [
        pairedRow("exec to online, median", online),
        pairedRow("edge-agent status, median", status),
        comparedRow("idle, one app: memory (PSS)", memory, inMegabytes),
        comparedRow(`idle, one app: processor over ${windowMs / 1000} s`, percent, (value) => `${value.toFixed(3)} %`),
      ],
    };
  },
};

async function timeToOnline({ folder, settings }: Build): Promise<number> {
  await using agent = await startAgent(folder, settings);
  return await waitUntilOnline(agent);
}

function timeOfStatus({ executable, folder }: Build): Promise<number> {
  return milliseconds(async () => {
    const { code, stderr } = await run(executable, ["status", "--config", join(folder, "agent.json")]);
    if (code !== 0) throw new Error(`status ended with ${code}: ${stderr}`);
  });
}

function pairedRow(what: string, { ours, reference, ratio }: Paired): Row {
  return {
    what,
    value: inMilliseconds(median(ours)),
    reference: `before: ${inMilliseconds(median(reference))}`,
    ratio,
  };
}

function comparedRow(what: string, [after = 0, before = 0]: readonly number[], format: (value: number) => string): Row {
  return { what, value: format(after), reference: `before: ${format(before)}`, ratio: after / before };
}
