import { VERSION } from "../../../src/lib/version.ts";
import { succeed } from "../../support/command.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { someRelease } from "../../support/updates/some-release.ts";
import { milliseconds } from "../measure.ts";
import { processorMs, residentBytes, settledBytes } from "../process-usage.ts";
import { type Bench, inMegabytes } from "../result.ts";
import { RolloutClient } from "./rollout-client.ts";
import { addAccount, prepareData, startService, withStore } from "./service.ts";
import { addDevices, startFleet, tagAll } from "./simulated-fleet.ts";

const DEVICES = 10_000;
const DEVICE_PROCESSES = 4;
const MAX_PARALLEL = 500;
/** Of a release whose Node.js the devices have. */
const PROGRAM_BYTES = 520_000;
const RELEASE = `${VERSION}+1`;
const LOOK_MS = 250;

/** What one rollout took of the service. */
interface Cost {
  readonly seconds: number;
  readonly processorMs: number;
  /** The most while it went on, and after it. */
  readonly peakBytes: number;
  readonly settledBytes: number;
}

/**
 * A release of the agent to a fleet in three waves, which each device fetches from the service, restarts into and finds to work at
 * once: a trial would add its 90 s to each. Beside it a rollout of an app to the same devices, which fetch nothing.
 */
export const agentRollout: Bench = {
  name: "agent-rollout",
  isOnRequest: true,
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const devices = quick ? 500 : DEVICES;
    const folder = owner.use(await tempDir()).path;
    const { accountId, apiKey } = await withStore(folder, addAccount);
    const { database } = await prepareData(folder);
    const tokens = addDevices(database, accountId, devices);
    tagAll(database, accountId, "role", "kiosk");
    const { layout, keyFile } = await someRelease(folder, RELEASE, { layerBytes: PROGRAM_BYTES });
    const add = ["agent-release", "add", layout, "--key", keyFile, "--data-dir", `${folder}/data`];
    await succeed("dist/edge-control", add);
    const fleet = owner.use(startFleet(tokens, DEVICE_PROCESSES));
    const service = owner.use(await startService(folder));
    await fleet.connect(`ws://127.0.0.1:${service.port}/v1/agent`);
    const client = new RolloutClient(service, apiKey);
    const waves = [devices / 100, devices / 10].map((limit) => ({ limit, soak_s: 0 }));
    await client.createFleet("role=kiosk", Math.min(MAX_PARALLEL, devices / 10), waves);
    const settleMs = quick ? 2_000 : 20_000;

    const rollOut = async (id: string): Promise<Cost> => {
      const used = processorMs(service.pid);
      let peakBytes = 0;
      const look = setInterval(() => (peakBytes = Math.max(peakBytes, residentBytes(service.pid))), LOOK_MS);
      try {
        const ms = await milliseconds(async () => {
          await client.command(id, "resume");
          await client.succeeded(id);
        });
        const processor = processorMs(service.pid) - used;
        const settled = await settledBytes(service.pid, settleMs);
        return { seconds: ms / 1000, processorMs: processor, peakBytes, settledBytes: settled };
      } finally {
        clearInterval(look);
      }
    };
    // Warms the service up.
    await rollOut(await client.draft());
    const before = await settledBytes(service.pid, settleMs);
    const app = await rollOut(await client.draft());
    const agent = await rollOut(await client.draftAgent(RELEASE));
    const fetched = await fleet.updateBytes();
    if (fetched.length !== devices) throw new Error(`${fetched.length} updates for ${devices} devices`);
    await fleet.disconnect();
    const bytes = fetched.reduce((sum, count) => sum + count, 0);
    const what = `edge-control: release of the agent to ${devices} devices, ${waves.map(({ limit }) => limit).join(", ")} and the rest`;
    const perSecond = ({ seconds }: Cost): number => devices / seconds;
    const costOf = ({ processorMs: ms }: Cost): number => ms / devices;
    return {
      data: { devices, before, app, agent, bytes },
      rows: [
        {
          what: `${what}: targets from the start to success`,
          value: `${perSecond(agent).toFixed(0)}/s, ${agent.seconds.toFixed(0)} s`,
          reference: `an app: ${perSecond(app).toFixed(0)}/s, ${app.seconds.toFixed(0)} s`,
          ratio: perSecond(agent) / perSecond(app),
        },
        {
          what: `${what}: processor time of a target`,
          value: `${costOf(agent).toFixed(2)} ms`,
          reference: `an app: ${costOf(app).toFixed(2)} ms`,
          ratio: costOf(agent) / costOf(app),
        },
        {
          what: `${what}: memory (RSS), the most and after it`,
          value: `${inMegabytes(agent.peakBytes)}, ${inMegabytes(agent.settledBytes)}`,
          reference: `an app: ${inMegabytes(app.peakBytes)}, ${inMegabytes(app.settledBytes)}; before: ${inMegabytes(before)}`,
        },
        {
          what: `${what}: bytes that a device fetches`,
          value: `${(bytes / devices / 1000).toFixed(0)} kB`,
          reference: `${(bytes / 1e9).toFixed(2)} GB in all`,
        },
      ],
    };
  },
};
