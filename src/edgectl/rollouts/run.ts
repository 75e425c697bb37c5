import type { ApiClient } from "../api/client.ts";
import { getFleet } from "../api/fleets.ts";
import { type AssetPrice, type Price, priceEvents, rolloutEvents } from "../api/rollout-streams.ts";
import { priceRequest, type RolloutCreation, rolloutPath } from "../api/rollouts.ts";
import type { Context } from "../context.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";
import { hintFor } from "../hints.ts";
import { NetworkFailure } from "../api/network-failure.ts";
import { createRolloutView } from "../views/rollout-progress.ts";
import { followRollout } from "./follow.ts";

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

/** Shows a rollout until it ends. Errors: exit code 1 for any end but success, 130 for Ctrl-C; otherwise the client's. */
export async function showRollout(
  context: Context,
  client: ApiClient,
  fleet: string,
  id: string,
  retryForS: number,
): Promise<void> {
  const { io, printer } = context;
  using view = createRolloutView(io, printer);
  const open = (after: number) =>
    rolloutEvents(client, { path: rolloutPath(fleet, id, "events"), query: { after } }, io.clock, io.interrupted);
  const options = { open, listener: view, giveUpAfterMs: retryForS * 1000, clock: io.clock, random: io.random };
  try {
    const { status, message, code, state } = await followRollout({ ...options, signal: io.interrupted });
    if (status === "Success") return;
    const isOfTargets = state === "failed" || state === "rolled_back";
    const hint = isOfTargets
      ? `To see which assets failed and why:\n  edgectl rollouts targets ${fleet} ${id} --state failed,lost`
      : hintFor(code);
    throw new Failure(message, { exitCode: EXIT.failed, code, hint });
  } catch (error) {
    view[Symbol.dispose]();
    if (!io.interrupted.aborted) throw error;
    throw new Failure("Interrupted. The rollout goes on.", { exitCode: EXIT.interrupted, hint: followHint(fleet, id) });
  }
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

/** Asks every connected member what it would download. Errors: exit code 1 if the service gives up. */
export async function askPrice(
  { io }: Context,
  client: ApiClient,
  fleet: string,
  body: RolloutCreation,
): Promise<{ readonly price: Price; readonly assets: readonly AssetPrice[] }> {
  const assets: AssetPrice[] = [];
  for await (const event of priceEvents(client, priceRequest(fleet, body), io.clock, io.interrupted)) {
    const { status, asset, details, message, code } = event;
    if (asset) assets.push(asset);
    if (status === "Fail") throw new Failure(message, { exitCode: EXIT.failed, code, hint: hintFor(code) });
    if (status === "Success" && details) return { price: details, assets };
  }
  throw new NetworkFailure(client.baseUrl, "it ended the stream before the sums", { maybeSent: true });
}
