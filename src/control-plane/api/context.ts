import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "../../lib/logger.ts";
import type { AccessWatcher } from "../accounts/access-watcher.ts";
import type { ConflictRateLimiter } from "../assets/conflict-rate-limiter.ts";
import type { RefusalLog } from "../accounts/refusal-log.ts";
import type { Channels } from "../alerts/channels/channels.ts";
import type { HourlyLimiter } from "../instances/hourly-limiter.ts";
import type { AssetUpdater } from "../assets/update-asset.ts";
import type { Bus } from "../bus/bus.ts";
import type { Config } from "../config/config.ts";
import type { AccountFeeds } from "../events/account-feeds.ts";
import type { Fleets } from "../fleets/fleets.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { DeviceGate } from "../devices/device-gate.ts";
import type { DeviceQueries } from "../devices/queries/device-queries.ts";
import type { Observer } from "../metrics/observer.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { PrincipalReader } from "../accounts/principal-reader.ts";
import type { SharedCounts } from "../instances/shared-counts.ts";
import type { OidcSignIn } from "../accounts/oidc/oidc-sign-in.ts";
import type { PasswordHasher } from "../accounts/password-hasher.ts";
import type { SignInGate } from "../accounts/sign-in-gate.ts";
import type { Site } from "./site.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { DataPlans } from "../sims/data-plans.ts";
import type { OperatorUsageReader } from "../sims/operator-usage.ts";
import type { SimRefresher } from "../sims/sim-refresher.ts";
import type { LeaseLock } from "../instances/lease-lock.ts";
import type { ServedReleases } from "../releases/served-releases.ts";
import type { SimOperators } from "../sim-operator/sim-operators.ts";
import type { Store } from "../store/store.ts";
import type { Uploads } from "../uploads/uploads.ts";
import type { StreamLimiter } from "./stream-limiter.ts";

/** The Fastify instance on which endpoints are registered, with request types derived from zod schemas. */
export type Api = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** What endpoints of all rooms use. */
export interface ApiBase {
  readonly config: Config;
  readonly store: Store;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly observer: Observer | undefined;
  /** Aborts when the server begins to stop. */
  readonly stopping: AbortSignal;
}

/** What the endpoints of some rooms use beside that. */
export interface ApiServices {
  /** Who acts, and how people sign in. */
  readonly accounts: {
    readonly access: AccessWatcher;
    readonly principals: PrincipalReader;
    readonly hasher: PasswordHasher;
    readonly signIns: SignInGate;
    /** `undefined` if no identity provider is configured. */
    readonly oidc: OidcSignIn | undefined;
    readonly site: Site;
    readonly refusals: RefusalLog;
  };
  readonly alerts: {
    readonly channels: Channels;
    /** Limits tests of channels. */
    readonly tests: HourlyLimiter;
  };
  readonly assets: {
    readonly updater: AssetUpdater;
    readonly conflicts: ConflictRateLimiter;
    /** Of assets: see `assetLockOf`. */
    readonly locks: LeaseLock;
  };
  readonly deployments: Deployments;
  readonly fleets: Fleets;
  /** This instance of the service, among others. */
  readonly instance: {
    readonly bus: Pick<Bus, "state">;
    /** What other instances count; `undefined` if there can be none. */
    readonly counts: SharedCounts | undefined;
    /** Aborts when the server was told to stop, which is before `stopping`: it serves for some time yet. */
    readonly leaving: AbortSignal;
  };
  readonly queries: DeviceQueries;
  /** Releases of the agent, for devices. */
  readonly releases: { readonly served: ServedReleases; readonly gate: DeviceGate };
  readonly sealer: Sealer;
  readonly sims: {
    readonly operators: SimOperators;
    readonly usage: OperatorUsageReader;
    readonly refresher: SimRefresher;
    readonly plans: DataPlans;
  };
  /** Streams to clients. */
  readonly streams: {
    readonly limiter: StreamLimiter;
    /** The events of each account. */
    readonly feeds: AccountFeeds;
  };
  /** Contents of apps' files. */
  readonly uploads: Uploads;
}

/** What an endpoint uses: the base, and the services that it names; without names, all of them. */
export type ApiContext<Name extends keyof ApiServices = keyof ApiServices> = ApiBase & Pick<ApiServices, Name>;

/** Registers one endpoint. */
export type Route = (api: Api, context: ApiContext) => void;
