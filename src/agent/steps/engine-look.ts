import type { AppRecord } from "../core/records.ts";
import type { DeployServices } from "./context.ts";
import { NO_CONTAINERS } from "./observe.ts";
import { INSTALLED_ORDER } from "./policy-check.ts";
import { tryAgain } from "./try-start.ts";

/**
 * Between two looks, in milliseconds. Nothing that a service without rights can read tells that rules of the firewall are gone, so
 * that the engine has to try it.
 */
const LOOK_PAUSE_MS = 3_600_000;
/** From the start to the first look. By then a service that sets up the firewall at boot has removed the engine's rules. */
const FIRST_LOOK_MS = 300_000;
/** Between two looks at an engine that needs a restart. */
const TRIAL_PAUSE_MS = 120_000;

type EngineLookOptions = DeployServices & { readonly lease: (app: string) => Disposable | undefined };

/**
 * Looks now and then whether the engine could start an app with ports, so that what it has lost is known before an app that ends
 * finds it. `troubles` has the result.
 */
export class EngineLook {
  readonly #options: EngineLookOptions;
  #lookedAt: number;

  constructor(options: EngineLookOptions) {
    this.#options = options;
    this.#lookedAt = options.clock.monotonic() + FIRST_LOOK_MS - LOOK_PAUSE_MS;
  }

  /** Looks, if it is time to, with an app that no deployment works on. */
  async round(apps: readonly AppRecord[], signal: AbortSignal): Promise<void> {
    const { troubles, lease, clock } = this.#options;
    const now = clock.monotonic();
    const app = apps.find(({ spec }) => spec.ports.length > 0 && !spec.host_network);
    if (!app || now - this.#lookedAt < (troubles.needsRestart ? TRIAL_PAUSE_MS : LOOK_PAUSE_MS)) return;
    using appLease = lease(app.name);
    if (!appLease) return;
    this.#lookedAt = now;
    const { deploymentId } = app;
    const step = { deploymentId, order: INSTALLED_ORDER, observed: NO_CONTAINERS };
    await tryAgain({ ...this.#options, ...step, signal }, app);
  }
}
