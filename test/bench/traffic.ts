import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startAgent, untilOnline } from "../../scripts/system/agent.ts";
import { startControlPlane } from "../../scripts/system/control-plane.ts";
import { tempDir } from "../support/temp-dir.ts";
import { median } from "./measure.ts";
import { type MeteredNetwork, meteredNetwork } from "./metered-network.ts";
import { type Bench, atMost } from "./result.ts";
import { tlsFront } from "../support/link/tls-front.ts";

const MONTH_S = 30 * 24 * 3600;
const DEFAULT_KEEPALIVE_S = 600;
const SHORT_KEEPALIVE_S = 10;

/**
 * What an idle agent costs on a metered link: TLS to the control plane, every byte of TCP in both directions counted by
 * the kernel with its headers. Five minutes with the defaults see no keep-alive, so one is measured by itself, with a
 * shorter period, and the month is put together from both.
 */
export const traffic: Bench = {
  name: "traffic",
  async run({ quick }) {
    await using owner = new AsyncDisposableStack();
    const folder = owner.use(await tempDir()).path;
    const network = owner.use(await meteredNetwork());
    const control = owner.use(await startControlPlane(folder));
    const { deviceToken } = await control.register("bench", "BENCH-1");
    const front = owner.use(await tlsFront(folder, network.host, control.url));
    const start = async (link: Readonly<Record<string, number>>): Promise<AsyncDisposable> => {
      const agent = await startAgent(join(folder, "device"), {
        controlPlaneUrl: `wss://${network.host}:${front.port}/v1/agent`,
        deviceToken,
        config: { extra_ca_file: front.caFile, link },
        enter: network.enter,
      });
      await untilOnline(agent);
      return agent;
    };

    const idleS = quick ? 10 : 300;
    const { connecting, idling } = await measureDefaults(network, () => start({}), idleS);
    const round = await measureKeepalive(network, () => start({ keepalive_s: SHORT_KEEPALIVE_S }), quick ? 2 : 5);
    const month = (idling / idleS) * MONTH_S + round * (MONTH_S / DEFAULT_KEEPALIVE_S);
    const rounds = MONTH_S / DEFAULT_KEEPALIVE_S;
    return {
      data: { connecting, idleS, idling, keepaliveRound: round, month },
      rows: [
        { what: "agent connects: bytes of one connection", value: `${connecting} B` },
        { what: `agent idle for ${idleS} s, defaults: bytes on the wire`, value: `${idling} B` },
        { what: "one keep-alive round: bytes on the wire", value: `${round} B` },
        {
          what: `agent idle, a month: computed, with ${rounds} keep-alives`,
          value: `${(month / 1e6).toFixed(2)} MB`,
          target: atMost(1, "MB", month / 1e6),
        },
      ],
    };
  },
};

async function measureDefaults(
  network: MeteredNetwork,
  start: () => Promise<AsyncDisposable>,
  idleS: number,
): Promise<{ connecting: number; idling: number }> {
  const before = await network.bytes();
  await using _agent = await start();
  // The first exchange, and the acknowledgements that TCP sends a little later, are part of connecting.
  await sleep(3_000);
  const connected = await network.bytes();
  await sleep(idleS * 1000);
  return { connecting: connected - before, idling: (await network.bytes()) - connected };
}

async function measureKeepalive(
  network: MeteredNetwork,
  start: () => Promise<AsyncDisposable>,
  rounds: number,
): Promise<number> {
  await using _agent = await start();
  await sleep(3_000);
  const costs: number[] = [];
  while (costs.length < rounds) {
    const before = await network.bytes();
    while ((await network.bytes()) === before) await sleep(200);
    await sleep(1_000);
    costs.push((await network.bytes()) - before);
  }
  return median(costs);
}
