import { type AttemptOutcome, INITIAL_LINK_STATE, nextAttempt } from "../../src/agent/core/link/link-state.ts";
import { toLinkConfig } from "../../src/agent/link/to-link-config.ts";
import { configSchema } from "../../src/agent/config/schema.ts";
import { fullJitter } from "../../src/lib/backoff.ts";
import { answerAll, ControlPeer } from "../support/link/control-peer.ts";
import { runUplink } from "../support/link/running-uplink.ts";
import { waitFor } from "../support/wait-for.ts";
import { type Bench, type Row, atMost } from "./result.ts";

const AGENTS = 1_000;
const REAL_AGENTS = 200;
const REAL_DOWN_MS = 3_000;

const file = configSchema.parse({ control_plane_url: "wss://control.example", device_token: "ed_none" });
const { backoff } = toLinkConfig({ ...file, path: "", token: "ed_none", extraCa: undefined }, undefined);

/** Distribution of a fleet's reconnects after an outage of the control plane. */
export const returnOfAFleet: Bench = {
  name: "return-of-a-fleet",
  async run() {
    const downs = [1_000, 10_000, 60_000];
    const computed = downs.map((downMs) => ({
      downMs,
      times: Array.from({ length: AGENTS }, () => returnsAt(downMs)),
    }));
    const real = await realReturns();
    return {
      data: { computed: computed.map(({ downMs, times }) => ({ downMs, ...spread(times) })), real: spread(real) },
      rows: [
        ...computed.map(({ downMs, times }) => row(`${AGENTS} agents, down for ${downMs / 1000} s, computed`, times)),
        row(`${REAL_AGENTS} agents, down for ${REAL_DOWN_MS / 1000} s, real sockets`, real),
      ],
    };
  },
};

function row(what: string, times: readonly number[]): Row {
  const { most, lastS } = spread(times);
  const share = (most / times.length) * 100;
  return {
    what: `${what}: most in one second`,
    value: `${most} (${share.toFixed(0)} %), the last after ${lastS.toFixed(0)} s`,
    target: atMost(25, "% of them", share),
  };
}

/** Milliseconds from the end of an outage of `downMs` until an agent has reconnected. */
function returnsAt(downMs: number): number {
  const lost: AttemptOutcome = { kind: "failed", reason: "connection reset", isFleetWide: true };
  let state = INITIAL_LINK_STATE;
  for (let at = 0; ;) {
    // Only the first session was stable.
    const next = nextAttempt(state, lost, at === 0 ? 3_600_000 : 0, backoff, (attempt, bounds) => {
      return fullJitter(attempt, bounds, Math.random());
    });
    state = next.state;
    at += Math.max(1, next.delayMs);
    if (at >= downMs) return at - downMs;
  }
}

async function realReturns(): Promise<number[]> {
  let isDown = false;
  const returns: number[] = [];
  let backAt = 0;
  await using peer = await ControlPeer.start({
    refuse: () => (isDown ? "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n" : undefined),
    onFrame(session, frame) {
      answerAll(session, frame);
      if (frame.type === "hello" && backAt > 0) returns.push(performance.now() - backAt);
    },
  });
  await using owned = new AsyncDisposableStack();
  for (let count = 0; count < REAL_AGENTS; count++) {
    owned.use(runUplink({ url: `ws://127.0.0.1:${peer.port}/v1/agent`, backoff }));
  }
  await waitFor("all agents online", () => peer.sessions.length === REAL_AGENTS);
  isDown = true;
  for (const { socket } of peer.sessions) socket.terminate();
  await new Promise((resolve) => setTimeout(resolve, REAL_DOWN_MS));
  isDown = false;
  backAt = performance.now();
  await waitFor("all agents back", () => returns.length === REAL_AGENTS, { timeoutMs: 120_000 });
  return returns;
}

/** The maximum number of reconnects within one second, and the time of the last one. */
function spread(times: readonly number[]): { readonly most: number; readonly lastS: number } {
  const sorted = times.toSorted((a, b) => a - b);
  const most = Math.max(...sorted.map((from) => sorted.filter((time) => time >= from && time < from + 1_000).length));
  return { most, lastS: (sorted.at(-1) ?? 0) / 1000 };
}
