import type { ApiClient } from "../api/client.ts";
import { getFleet } from "../api/fleets.ts";
import { type AssetPrice, type Price, priceEvents, type RolloutEvent, rolloutEvents } from "../api/rollout-streams.ts";
import { getRollout, type Rollout, type RolloutCreation, type Waiting } from "../api/rollouts.ts";
import type { Context } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { NetworkFailure } from "../api/network-failure.ts";
import { createRolloutView } from "../views/rollout-progress.ts";
import { neededCommand, waitingText } from "../views/rollout-words.ts";
import { followRollout } from "../rollouts/follow.ts";

/** Returns the id that is given, or that of the fleet's newest rollout. Errors: exit code 4 if it has none. */
export async function findRolloutId(client: ApiClient, fleet: string, id: string | undefined): Promise<string> {
  if (id !== undefined) return id;
  const { latest_rollout: latest } = await getFleet(client, fleet);
  if (latest) return latest.id;
  throw new Failure(`The fleet ${fleet} has no rollout.`, {
    exitCode: EXIT.notFound,
    hint: `Make one:\n  edgectl rollouts create ${fleet}`,
  });
}

export interface ShowOptions {
  /** Seconds to retry without a connection. */
  readonly retryFor: number;
  /** Whether it ends once the rollout waits for people. */
  readonly exitWhenWaiting?: boolean | undefined;
}

/**
 * Shows a rollout until it ends. Errors: exit code 1 for any end but success, 6 if it waits for people and that ends it, 130 for
 * Ctrl-C; otherwise the client's.
 */
export async function showRollout(
  context: Context,
  client: ApiClient,
  fleet: string,
  id: string,
  { retryFor, exitWhenWaiting = false }: ShowOptions,
): Promise<void> {
  const { io, printer } = context;
  using view = createRolloutView(io, printer);
  const open = (after: number, onOpen: () => void) => {
    return rolloutEvents(client, fleet, id, { after, onOpen, clock: io.clock, signal: io.interrupted });
  };
  let now: Rollout | undefined;
  // The event may be an old one: what counts is how the rollout is now.
  const endsWaiting = async ({ state, wave }: RolloutEvent): Promise<boolean> => {
    if (!exitWhenWaiting) return false;
    now = await getRollout(client, fleet, id);
    return now.waits_for_people && now.state === state && now.wave === wave;
  };
  const options = {
    open,
    listener: view,
    endsWaiting,
    giveUpAfterMs: retryFor * 1000,
    clock: io.clock,
    random: io.random,
  };
  try {
    const event = await followRollout({ ...options, signal: io.interrupted });
    if (event.status === "Running") throw toWaitingFailure(fleet, id, now?.waiting_for ?? event.waiting_for);
    if (event.status !== "Success") throw toFailure(fleet, id, event);
  } catch (error) {
    view[Symbol.dispose]();
    if (!io.interrupted.aborted) throw error;
    throw new Failure("Interrupted. The rollout goes on.", { exitCode: EXIT.interrupted, hint: followHint(fleet, id) });
  }
}

function toWaitingFailure(fleet: string, id: string, waiting: readonly Waiting[]): Failure {
  const command = neededCommand(waiting);
  return new Failure(`The rollout waits: ${waitingText(waiting)}.`, {
    exitCode: EXIT.waiting,
    hint:
      command === undefined
        ? `To see which assets:\n  edgectl rollouts targets ${fleet} ${id} --state waiting`
        : `To let it go on:\n  edgectl rollouts ${command} ${fleet} ${id}`,
  });
}

function toFailure(fleet: string, id: string, { message, code, state, counts }: RolloutEvent): Failure {
  const isOfTargets = state === "failed" || state === "rolled_back";
  const areFailed = state === "rolled_back" || ["failed", "lost", "refused"].some((name) => (counts[name] ?? 0) > 0);
  const hint = !isOfTargets
    ? hintFor(code)
    : areFailed
      ? `To see which assets failed and why:\n  edgectl rollouts targets ${fleet} ${id} --failed`
      : `To see how the assets are:\n  edgectl rollouts targets ${fleet} ${id}`;
  return new Failure(message, { exitCode: EXIT.failed, code, hint });
}

/** The commands that follow a rollout, and stop it. */
export function followHint(fleet: string, id: string): string {
  return [
    "To follow it:",
    `  edgectl rollouts events ${fleet} ${id} --follow`,
    "To stop it, or to go back:",
    `  edgectl rollouts pause ${fleet} ${id}`,
    `  edgectl rollouts rollback ${fleet} ${id}`,
  ].join("\n");
}

/** A plan with what members would download, if they were asked. */
export interface Priced {
  readonly price: Price;
  readonly assets: readonly AssetPrice[];
  /** Why the rollout could not succeed; `undefined`: it could. */
  readonly problem: string | undefined;
}

/**
 * Plans a rollout, and asks every connected member what it would download unless `asksDevices` is false. Errors: exit code 1 if
 * the service gives up.
 */
export async function askPrice(
  { io }: Context,
  client: ApiClient,
  fleet: string,
  body: RolloutCreation,
  { asksDevices }: { readonly asksDevices: boolean },
): Promise<Priced> {
  const assets: AssetPrice[] = [];
  const stream = { asksDevices, clock: io.clock, signal: io.interrupted };
  for await (const event of priceEvents(client, fleet, body, stream)) {
    const { status, asset, details, message, code } = event;
    if (asset) assets.push(asset);
    if (details) return { price: details, assets, problem: status === "Fail" ? message : undefined };
    if (status === "Fail") throw new Failure(message, { exitCode: EXIT.failed, code, hint: hintFor(code) });
  }
  throw new NetworkFailure(client.baseUrl, "it ended the stream before the sums", { maybeSent: true });
}
