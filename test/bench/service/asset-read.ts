import { join } from "node:path";
import { startProgram } from "../../../scripts/system/program.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { registerAsset } from "../../../src/control-plane/assets/register-asset.ts";
import { assetRegistrationSchema } from "../../../src/protocol/assets/asset-request.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { median, paired } from "../measure.ts";
import { processorMs } from "../process-usage.ts";
import type { Bench } from "../result.ts";
import { KeepAliveClient, type Target, requestFor } from "./keep-alive-client.ts";
import { startLoad } from "./load.ts";
import { addAccount, startService, withStore } from "./service.ts";

/** Enough that neither server waits for requests, which would measure their wake-up time. */
const CONNECTIONS = 64;
const MIN_RATIO = 0.3;

/** Requests per second for one asset, compared with Fastify returning a constant of that size. */
export const assetRead: Bench = {
  name: "asset-read",
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const folder = owner.use(await tempDir()).path;
    const apiKey = await withStore(folder, async (store) => {
      const { accountId, apiKey: key } = await addAccount(store);
      const origin = { accountId, actor: { kind: "service", id: "bench" }, source: undefined } as const;
      await registerAsset({ store, clock: systemClock }, origin, assetRegistrationSchema.parse(GATEWAY));
      return key;
    });
    const { host, port, pid } = owner.use(await startService(folder));
    const asset: Target = { host, port, path: `/v1/assets/${GATEWAY.serial_number}`, headers: { "X-API-Key": apiKey } };
    const body = await ask(asset);
    const args = ["test/bench/service/constant-process.ts", body];
    const server = owner.use(startProgram("dist/node", args, { log: join(folder, "constant.log") }));
    const constant: Target = { ...asset, port: Number((await server.waitForMessage("listening"))["port"]) };
    if ((await ask(constant)) !== body) throw new Error("the constant differs from the service's response");

    const load = owner.use(startLoad());
    const windowMs = quick ? 1_000 : 5_000;
    const costs: Record<"ours" | "reference", number[]> = { ours: [], reference: [] };
    const measure = async (target: Target, server: number, into: number[]): Promise<number> => {
      const before = processorMs(server);
      const start = performance.now();
      const perSecond = await load.perSecond(target, CONNECTIONS, windowMs);
      const requests = perSecond * ((performance.now() - start) / 1000);
      into.push(((processorMs(server) - before) / requests) * 1000);
      return perSecond;
    };
    const { ours, reference, ratio } = await paired(
      quick ? 3 : 9,
      () => measure(asset, pid, costs.ours),
      () => measure(constant, server.pid, costs.reference),
    );
    const [cost, referenceCost] = [median(costs.ours), median(costs.reference)];
    return {
      data: { ours, reference, ratio, costs, bytes: body.length, connections: CONNECTIONS, windowMs },
      rows: [
        {
          what: `edge-control: one asset (${body.length} B), ${CONNECTIONS} connections, median`,
          value: inRequests(median(ours)),
          reference: `Fastify, a constant of that size: ${inRequests(median(reference))}`,
          ratio,
          target: { text: `at least ${MIN_RATIO} x`, met: ratio >= MIN_RATIO },
        },
        {
          what: "the same: processor time of the server a request, median",
          value: inMicroseconds(cost),
          reference: `Fastify, a constant of that size: ${inMicroseconds(referenceCost)}`,
          ratio: cost / referenceCost,
        },
      ],
    };
  },
};

const GATEWAY = {
  serial_number: "GW-0001",
  name: "Pumping station 1",
  type: "gateway",
  supersim: { sid: "HS0123456789abcdef0123456789abcdef", iccid: "8988307000000000001", network_group: "default_1gb" },
  prosim: { imsi: "262010000000001", iccid: "8988303000000000002", service_profile: "standard" },
};

async function ask(target: Target): Promise<string> {
  using client = await KeepAliveClient.connect(target);
  return await client.ask(requestFor(target));
}

const inMicroseconds = (value: number): string => `${value.toFixed(1)} µs`;
const inRequests = (perSecond: number): string => `${perSecond.toFixed(0)} requests/s`;
