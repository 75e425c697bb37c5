import type { Clock } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/terminal/time.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { ApiClient } from "../api/client.ts";
import { askedPauseMs, isPassing } from "../api/network-failure.ts";
import { listAssetSims, refreshSim, type Sim } from "../api/sims.ts";
import { EXIT, Failure } from "../failure.ts";
import { changeText, simName } from "./sim-words.ts";

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
/** The service asks an operator for a SIM at most once a minute. */
const REFRESH_INTERVAL_MS = 60_000;

/** The state that was asked for. */
export interface WantedState {
  readonly status?: string | undefined;
  /** Of the Super SIM. */
  readonly networkGroup?: string | undefined;
}

export interface SettleOptions {
  readonly client: ApiClient;
  readonly asset: string;
  readonly wanted: WantedState;
  /** In milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with each new reason why the operator or the service does not answer; waiting goes on. */
  readonly onUnanswered: (why: string) => void;
}

/**
 * Waits until the operators have confirmed a change, and returns the SIMs. Looks at the service at growing intervals, and has it ask
 * the operator once a minute. Errors: exit code 1 after the timeout, or if another state was confirmed or asked for, or a SIM is
 * lost.
 */
export async function settleChange(options: SettleOptions): Promise<readonly Sim[]> {
  const { clock, signal, timeoutMs, asset } = options;
  const begin = clock.monotonic();
  let refreshedAt = begin;
  let pauseMs = FIRST_PAUSE_MS;
  let said: string | undefined;
  for (;;) {
    let askedMs = 0;
    try {
      const isRefresh = clock.monotonic() - refreshedAt >= REFRESH_INTERVAL_MS;
      if (isRefresh) refreshedAt = clock.monotonic();
      const sims = await readSims(options, isRefresh);
      requireWanted(sims, options);
      if (sims.every(({ pending }) => pending === undefined)) return sims;
    } catch (error) {
      if (!isPassing(error)) throw error;
      askedMs = askedPauseMs(error);
      if (error.message !== said) options.onUnanswered(error.message);
      said = error.message;
    }
    const leftMs = timeoutMs - (clock.monotonic() - begin);
    if (leftMs <= 0) {
      throw new Failure(`The operator has not confirmed the change within ${formatDuration(timeoutMs / 1000)}.`, {
        exitCode: EXIT.failed,
        hint: `The service goes on asking it. To see how it is:\n  edgectl sims show ${asset}`,
      });
    }
    await clock.sleep(Math.min(leftMs, Math.max(pauseMs, askedMs)), signal);
    pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
  }
}

async function readSims({ client, asset }: SettleOptions, isRefresh: boolean): Promise<readonly Sim[]> {
  const sims = await listAssetSims(client, asset);
  if (!isRefresh) return sims;
  return Promise.all(sims.map(async (sim) => (sim.pending ? refreshSim(client, asset, sim.type as SimType) : sim)));
}

function requireWanted(sims: readonly Sim[], { wanted, asset }: SettleOptions): void {
  const lost = sims.find((sim) => sim.lost && sim.pending);
  if (lost) {
    throw new Failure(`${simName(lost.type)}: the operator does not know it any more.`, {
      exitCode: EXIT.failed,
      hint: "Its credentials cannot see the SIM: it may belong to another account now.",
    });
  }
  const other = sims.find((sim) => isOther(sim, wanted));
  if (!other) return;
  const { pending } = other;
  const what = pending
    ? `another change has taken its place: ${changeText(pending, other)}`
    : `the operator has confirmed ${[other.status, other.network_group].filter((text) => text !== undefined).join(", ")}`;
  throw new Failure(`${simName(other.type)}: ${what}.`, {
    exitCode: EXIT.failed,
    hint: `To see who changed what:\n  edgectl audit --asset ${asset}`,
  });
}

/** Whether the SIM is, or is on its way to, another state than the wanted one. */
function isOther({ type, status, network_group: group, pending }: Sim, wanted: WantedState): boolean {
  const wantedGroup = type === "supersim" ? wanted.networkGroup : undefined;
  // What was queued by other means does not say where it leads.
  if (pending && pending.status === undefined && pending.network_group === undefined) return false;
  const coming = { status: pending?.status ?? status, group: pending?.network_group ?? group };
  return (
    (wanted.status !== undefined && coming.status !== wanted.status) ||
    (wantedGroup !== undefined && coming.group !== wantedGroup)
  );
}
