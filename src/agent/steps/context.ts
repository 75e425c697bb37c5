import type { EventContent } from "../../protocol/deployment-event.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Semaphore } from "../../lib/semaphore.ts";
import type { DeploymentRecord, Failure } from "../core/deployment/record.ts";
import type { Observed, RunProgress } from "../core/deployment/step.ts";
import type { ConcurrentDeployment } from "../core/deployment/check.ts";
import type { ProtectedPath } from "../core/policy/path-policy-input.ts";
import type { Policy } from "../core/policy/policy.ts";
import type { ImageDownloader } from "../download/ports.ts";
import type { Engine } from "../engine/engine.ts";
import type { Platform } from "../core/image/platform.ts";
import type { CredentialSource } from "../registry/credentials/credential-source.ts";
import type { RegistryClient } from "../registry/registry.ts";
import type { Host } from "../host/host.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { PullGate } from "../ledger/pull-gate.ts";
import type { AgentStore } from "../store/store.ts";

/** Settings of the deployment steps. Durations in milliseconds, sizes in bytes. */
export interface DeployConfig {
  /** How long an app without a health check must stay up to count as deployed. */
  readonly settleMs: number;
  /** How long an app with a health check may take to become healthy. */
  readonly healthTimeoutMs: number;
  readonly pullAttempts: number;
  /** Who downloads images. */
  readonly pullBy: "agent" | "engine";
  /** How long an engine that stopped answering in mid-deployment is waited for. */
  readonly enginePatienceMs: number;
  /** How long an app that is stopped may take to end by itself before it is killed. */
  readonly stopGraceMs: number;
  /** Most that one deployment may download; `undefined` for no bound. */
  readonly maxDownloadBytes: number | undefined;
  /** Free space that must remain where the engine keeps images. */
  readonly diskReserveBytes: number;
  /** The agent's state directory, by which it tells its containers from another agent's. */
  readonly stateDir: string;
  readonly containerLog: { readonly maxBytes: number; readonly maxFiles: number };
  readonly policy: Policy;
  /** Paths apps may not mount unless the policy allows exactly them: engine sockets, the agent's own state. */
  readonly protectedPaths: readonly ProtectedPath[];
}

/** What every deployment shares. */
export interface DeployServices {
  readonly engine: Engine;
  readonly host: Host;
  readonly store: AgentStore;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly config: DeployConfig;
  /** Directory the engine keeps images in. May be remembered for a while: asking is slow. */
  readonly dataRoot: (signal: AbortSignal) => Promise<string>;
  readonly registry: RegistryClient;
  /** What to show registries, unless a deployment brings its own. */
  readonly credentials: CredentialSource;
  /** What runs on this machine. May be remembered for a while. */
  readonly platform: (signal: AbortSignal) => Promise<Platform>;
  /** Downloads images where that is not left to the engine. */
  readonly downloader: ImageDownloader;
  /** Bounds how many images are pulled at once. */
  readonly pullSlots: Semaphore;
  /** When images may be pulled, and how fast. To be asked before a place among `pulls` is taken. */
  readonly gate: PullGate;
  /** Where what was pulled is counted. */
  readonly ledger: Ledger;
}

/** What one step of one deployment gets. */
export interface StepContext extends DeployServices {
  readonly record: DeploymentRecord;
  /** What the step was decided upon. */
  readonly observed: Observed;
  /** Deployments accepted earlier that are still going on. */
  readonly concurrentDeployments: () => readonly ConcurrentDeployment[];
  /** Stores an event and sends it, in the middle of a step. */
  readonly emit: (event: EventContent) => void;
  /** Aborted when the deployment is cancelled or the agent stops. */
  readonly signal: AbortSignal;
}

/** What a step came to. Stored together with the announcement of the step that follows. */
export interface StepResult {
  readonly record?: Partial<Pick<DeploymentRecord, "checked" | "digest" | "imageId">>;
  readonly failure?: Failure;
  readonly progress?: Partial<RunProgress>;
  readonly events?: readonly EventContent[];
  /**
   * The containers as the step left them; those left out are as they were. Where it is given, the engine need not be
   * asked for them.
   */
  readonly observed?: Partial<Observed>;
}
