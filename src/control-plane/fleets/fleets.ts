import type { RevisionRequest } from "../../protocol/fleets/revision.ts";
import type { RolloutRequest } from "../../protocol/fleets/rollout.ts";
import type { Bus } from "../bus/bus.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { ServedReleases } from "../releases/served-releases.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { Store } from "../store/store.ts";
import { type CommandOptions, commandRollout, type RolloutCommand } from "./command-rollout.ts";
import type { ImageResolver } from "../images/image-resolver.ts";
import { makeRevision, type Requester } from "./make-revision.ts";
import { type MadeRollout, makeRollout } from "./make-rollout.ts";
import { type Reapplied, reapply, type ReapplyInput } from "./reapply.ts";
import { planRollout, type RolloutPlan, savePlan } from "./plan-rollout.ts";
import { priceRollout } from "./price-rollout.ts";
import { planRetry, type RetryPlan, retryRollout } from "./retry-rollout.ts";
import { Uploads } from "../uploads/uploads.ts";
import { rolloutEvents } from "./rollout-stream.ts";

export interface FleetsOptions {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly images: ImageResolver;
  readonly deployments: Deployments;
  readonly bus: Bus;
  readonly clock: ServiceClock;
}

/** What people do with fleets. It writes to the store and wakes the coordinator, which carries it out. */
export class Fleets {
  readonly #options: FleetsOptions;

  constructor(options: FleetsOptions) {
    this.#options = options;
  }

  /** Reports that a fleet or a rollout has changed. */
  wake(): void {
    this.#options.bus.publish("fleets");
  }

  /** See `makeRevision`. */
  makeRevision(fleet: Fleet, request: RevisionRequest, requester: Requester, signal: AbortSignal) {
    const { store, sealer, images, clock } = this.#options;
    const releases = new ServedReleases(store.agentReleases);
    const uploads = new Uploads(store.uploads, clock);
    const options = { store: store.fleets, sealer, images, releases, uploads, clock };
    return makeRevision(options, fleet, request, requester, signal);
  }

  /** See `makeRollout`. */
  async makeRollout(
    fleet: Fleet,
    request: RolloutRequest,
    requester: Requester,
    key: string | undefined,
  ): Promise<MadeRollout> {
    const made = await makeRollout(this.#options, fleet, request, requester, key);
    this.wake();
    return made;
  }

  /** See `commandRollout`. */
  async command(
    fleet: Fleet,
    id: string,
    command: RolloutCommand,
    requester: Requester,
    options: CommandOptions,
  ): Promise<Rollout> {
    const { store, clock } = this.#options;
    const rollout = await commandRollout({ store: store.rollouts, clock }, fleet, id, command, requester, options);
    if (!options.isDryRun) this.wake();
    return rollout;
  }

  /** See `planRetry`. */
  planRetry(fleet: Fleet, earlier: Rollout): Promise<RetryPlan> {
    return planRetry(this.#options, fleet, earlier);
  }

  /** See `retryRollout`. */
  async retryRollout(fleet: Fleet, earlier: Rollout, requester: Requester): Promise<Rollout> {
    const rollout = await retryRollout(this.#options, fleet, earlier, requester);
    this.wake();
    return rollout;
  }

  /** See `reapply`. */
  async reapply(fleet: Fleet, input: ReapplyInput, requester: Requester): Promise<Reapplied> {
    const reapplied = await reapply(this.#options, fleet, input, requester);
    this.wake();
    return reapplied;
  }

  /** Plans a rollout, and stores the plan unless the request names one. Errors as of `planRollout`. */
  async plan(fleet: Fleet, request: RolloutRequest, requester: Requester): Promise<RolloutPlan> {
    const plan = await planRollout(this.#options, fleet, request);
    if (request.plan_id === undefined) await savePlan(this.#options, fleet, plan, requester);
    return plan;
  }

  /** See `priceRollout`. */
  price(fleet: Fleet, plan: RolloutPlan, asks: boolean, { origin }: Requester, signal: AbortSignal) {
    return priceRollout(this.#options, fleet, plan, { asks, origin, signal });
  }

  /** See `rolloutEvents`. */
  events(rollout: Rollout, after: number, signals: { readonly drain: AbortSignal; readonly signal: AbortSignal }) {
    const { store, bus, clock } = this.#options;
    return rolloutEvents(rollout, after, { store: store.rollouts, bus, clock, ...signals });
  }
}
