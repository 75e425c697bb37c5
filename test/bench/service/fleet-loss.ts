import { join } from "node:path";
import { SpreadingProxy } from "../../support/link/spreading-proxy.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";
import { type Bench, atMost } from "../result.ts";
import { DeploymentLoad } from "./deployment-load.ts";
import { percentile } from "./percentile.ts";
import { prepareFleet, SharedDatabase } from "./shared-database.ts";
import { startFleet } from "./simulated-fleet.ts";

const DEVICES = 5_000;
const DEVICE_PROCESSES = 2;
const REQUESTS_PER_SECOND = 40;
const BEFORE_MS = 3_000;
const MAX_SECONDS = 30;
/** How long clients wait for a device: longer than any takes to come back. */
const WAIT_S = 300;

/**
 * An instance that is killed with all devices on it, while clients of the other one deploy to them, and wait for devices that are not
 * connected: when each device is served again, and what becomes of the deployments. Devices come back through a proxy, as late as agents do that have lost
 * their connection together with others.
 */
export const fleetLoss: Bench = {
  name: "fleet-loss",
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const folder = join(owner.use(await tempDir()).path, "fleet");
    const devices = quick ? 200 : DEVICES;
    const { apiKey, tokens } = await prepareFleet(folder, devices);
    const database = owner.use(await SharedDatabase.copyOf(folder));
    const [lost, other] = [await database.startInstance(), await database.startInstance()];
    const proxy = owner.use(await SpreadingProxy.to([lost, other]));
    const fleet = owner.use(startFleet(tokens, DEVICE_PROCESSES, true));
    proxy.sever(1);
    await fleet.connect(`ws://127.0.0.1:${proxy.port}/v1/agent`);
    proxy.restore(1);

    const load = owner.use(new DeploymentLoad([other], apiKey, devices, { wait_for_device_s: WAIT_S }));
    const deployed = load.attemptAt(REQUESTS_PER_SECOND, BEFORE_MS + MAX_SECONDS * 1_000);
    await new Promise((resolve) => setTimeout(resolve, BEFORE_MS));
    const killedAt = Date.now();
    await lost.kill();
    const returnedAt = await waitFor(
      "every device to be served again",
      async () => {
        const times = await fleet.returnedAt();
        return times.length === devices && times;
      },
      { timeoutMs: 300_000 },
    );
    const returns = returnedAt.map((at) => (at - killedAt) / 1000);
    const outcomes = await deployed;
    const failures = outcomes.flatMap((each) => (each.status === "rejected" ? [String(each.reason)] : []));
    const slowestMs = Math.max(...outcomes.map((each) => (each.status === "fulfilled" ? each.value.endMs : 0)));
    const lastS = Math.max(...returns);
    const what = `edge-control: an instance with ${devices} devices killed`;
    return {
      data: { devices, lastS, medianS: percentile(returns, 50), deployments: outcomes.length, slowestMs, failures },
      rows: [
        {
          what: `${what}: until all are served again`,
          value: `${lastS.toFixed(1)} s`,
          reference: `median: ${percentile(returns, 50).toFixed(1)} s`,
          target: atMost(MAX_SECONDS, "s", lastS),
        },
        {
          what: `${what}: deployments meanwhile, ${REQUESTS_PER_SECOND}/s`,
          value: `${failures.length} of ${outcomes.length} failed`,
          reference: `the slowest: ${(slowestMs / 1000).toFixed(1)} s`,
          target: { text: "none fails", met: failures.length === 0 },
        },
      ],
    };
  },
};
