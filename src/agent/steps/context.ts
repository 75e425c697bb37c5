import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DeploymentRecord, Failure } from "../core/records.ts";
import type { Observed, RunProgress } from "../core/deployment/step.ts";
import type { ConcurrentDeployment } from "../core/deployment/check.ts";
import type { ProtectedPath } from "../core/policy/path-policy-input.ts";
import type { Policy } from "../core/policy/policy.ts";
import type { Engine, EngineInfo } from "../engine/engine.ts";
import type { EngineMeter } from "../engine/engine-meter.ts";
import type { FileFetcher } from "../files/fetcher.ts";
import type { Host } from "../host/host.ts";
import type { ImageProvider } from "../images/ports.ts";
import type { CrashGuard } from "../store/crash-guard.ts";
import type { PreviousLogs } from "../store/previous-logs.ts";
import type { AgentStore } from "../store/store.ts";
import type { EngineTroubles } from "../engine/engine-troubles.ts";

/** Settings of the deployment steps. Durations in milliseconds, sizes in bytes. */
export interface DeployConfig {
  /** How long an app without a health check must stay up to count as deployed. */
  readonly settleMs: number;
  /** How long an app with a health check may take to become healthy, unless the check or the request allows more. */
  readonly healthTimeoutMs: number;
  /** How long a deployment waits for an engine that stopped answering. */
  readonly enginePatienceMs: number;
  /** How long an app that is stopped may take to end by itself before it is killed. */
  readonly stopGraceMs: number;
  /** Free space that must remain where the engine keeps images. */
  readonly diskReserveBytes: number;
  /** Maximum bytes that one deployment downloads. */
  readonly maxDownloadBytes: number | undefined;
  /** The agent's state directory, which distinguishes its containers from another agent's. */
  readonly stateDir: string;
  /** Address ranges for the networks of apps, in order; empty for the engine's choice. */
  readonly networkSubnets: readonly string[];
  readonly containerLog: { readonly maxBytes: number; readonly maxFiles: number };
  readonly policy: Policy;
  /** Paths apps may not mount unless the policy allows exactly them: engine sockets, the agent's own state. */
  readonly protectedPaths: readonly ProtectedPath[];
}

/** What all deployments share. */
export interface DeployServices {
  readonly engine: Engine;
  /** Measures the calls to `engine`. */
  readonly engineMeter: EngineMeter;
  readonly host: Host;
  readonly store: AgentStore;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly config: DeployConfig;
  /** The engine's properties. May be cached, since the query is slow. */
  readonly engineInfo: (signal: AbortSignal) => Promise<EngineInfo>;
  readonly images: ImageProvider;
  readonly fileFetcher: Pick<FileFetcher, "fetch">;
  readonly previousLogs: PreviousLogs;
  readonly crashGuard: CrashGuard;
  readonly troubles: EngineTroubles;
}

/** Context of a step that works on an app's containers, in a deployment or in a repair. */
export interface ContainerStepContext extends Pick<
  DeployServices,
  "engine" | "host" | "store" | "config" | "engineInfo" | "previousLogs" | "clock" | "logger" | "troubles"
> {
  /** The deployment the step is part of, or that installed the app under repair. */
  readonly deploymentId: string;
  /** Order of that deployment; `INSTALLED_ORDER` in a repair. */
  readonly order: number;
  /** The observation the step was planned from. */
  readonly observed: Observed;
  /** Aborted when the deployment is cancelled or the agent stops. */
  readonly signal: AbortSignal;
}

/** Context of one step of one deployment. */
export interface StepContext extends ContainerStepContext, DeployServices {
  readonly record: DeploymentRecord;
  /** Deployments accepted earlier that are still going on. */
  readonly concurrentDeployments: () => readonly ConcurrentDeployment[];
  /** Installed apps that are removed or changed by the same group. */
  readonly replacedApps: ReadonlySet<string>;
  /** Stores an event and sends it while the step runs. */
  readonly emit: (event: EventContent) => void;
}

/** Result of a step. Stored together with the announcement of the next step. */
export interface StepResult {
  readonly record?: Partial<
    Pick<
      DeploymentRecord,
      "checked" | "digest" | "imageId" | "fetches" | "madeDirectories" | "madeVolumes" | "leftBehind"
    >
  >;
  readonly failure?: Failure;
  readonly progress?: Partial<RunProgress>;
  readonly events?: readonly EventContent[];
  /**
   * The containers after the step; missing lists are unchanged. If present, the next step is planned without a query
   * to the engine.
   */
  readonly observed?: Partial<Observed>;
}
