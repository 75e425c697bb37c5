import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startAgent, waitUntilOnline } from "../../scripts/system/agent.ts";
import { startControlPlane } from "../../scripts/system/control-plane.ts";
import { tempDir } from "../support/temp-dir.ts";
import { median } from "./measure.ts";
import { type MeteredNetwork, meteredNetwork } from "./metered-network.ts";
import { type Bench, atMost } from "./result.ts";
import { tlsFront } from "../support/link/tls-front.ts";

const MONTH_S = 30 * 24 * 3600;
const DEFAULT_KEEPALIVE_S = 600;
const SHORT_KEEPALIVE_S = 10;
/** Maximum learned keep-alive interval. */
const LEARNED_KEEPALIVE_S = 1_800;
/** More than closing a connection costs, and less than opening one. */
const MIN_CONNECTION_BYTES = 1_000;

/**
 * Traffic of an idle agent on a metered link: TLS to the control plane, all TCP bytes in both directions including
 * headers, by the kernel's count. Five minutes with the defaults contain no keep-alive, so one is measured separately
 * with a shorter interval, and the monthly traffic is computed from both.
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
        wrapperCommand: network.enter,
      });
      await waitUntilOnline(agent);
      return agent;
    };

    const idleS = quick ? 10 : 300;
    const { connecting, idling } = await measureDefaults(network, () => start({}), idleS);
    const short = { keepalive_s: SHORT_KEEPALIVE_S, keepalive_max_s: SHORT_KEEPALIVE_S };
    const round = await measureKeepalive(network, () => start(short), quick ? 2 : 5);
    const reconnecting = await measureReconnect(
      network,
      () => start({}),
      () => front.cut(),
      quick ? 1 : 3,
    );
    const idleMonth = (idling / idleS) * MONTH_S;
    const month = idleMonth + round * (MONTH_S / DEFAULT_KEEPALIVE_S);
    const learned = idleMonth + round * (MONTH_S / LEARNED_KEEPALIVE_S);
    const rounds = MONTH_S / DEFAULT_KEEPALIVE_S;
    return {
      data: { connecting, reconnecting, idleS, idling, keepaliveRound: round, month, learned },
      rows: [
        { what: "agent connects: bytes of one connection", value: `${connecting} B` },
        { what: `agent idle for ${idleS} s, defaults: bytes on the wire`, value: `${idling} B` },
        { what: "one keep-alive round: bytes on the wire", value: `${round} B` },
        {
          what: "agent connects again, TLS session resumed: bytes on the wire",
          value: `${reconnecting} B`,
          target: atMost(2_500, "B", reconnecting),
        },
        {
          what: `agent idle, a month: computed, with ${rounds} keep-alives`,
          value: `${(month / 1e6).toFixed(2)} MB`,
          target: atMost(1, "MB", month / 1e6),
        },
        {
          what: `the same on a network that keeps connections: ${MONTH_S / LEARNED_KEEPALIVE_S} keep-alives`,
          value: `${(learned / 1e6).toFixed(2)} MB`,
          target: atMost(0.5, "MB", learned / 1e6),
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
  // The first exchange and TCP's delayed acknowledgements are part of connecting.
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

/** All traffic from the cut of a connection until the next one is idle. */
async function measureReconnect(
  network: MeteredNetwork,
  start: () => Promise<AsyncDisposable>,
  cut: () => void,
  rounds: number,
): Promise<number> {
  await using _agent = await start();
  await sleep(3_000);
  const costs: number[] = [];
  while (costs.length < rounds) {
    const before = await network.bytes();
    cut();
    // The agent reconnects within ten seconds.
    while ((await network.bytes()) - before < MIN_CONNECTION_BYTES) await sleep(200);
    await sleep(3_000);
    costs.push((await network.bytes()) - before);
  }
  return median(costs);
}
