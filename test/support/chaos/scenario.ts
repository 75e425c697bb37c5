import type { ApplyRequestInput } from "../../../src/protocol/apps/apply.ts";
import type { AgentRig } from "../agent-rig.ts";
import type { SomeUpload } from "../uploads/upload.ts";
import type { AppRequest } from "../system.ts";
import type { ScenarioRequest } from "./model-control-plane.ts";

/** An event during a scenario, at a time in milliseconds of the fake clock. */
export type Intervention = { readonly atMs: number } & (
  | { readonly kind: "cancel" }
  | { readonly kind: "engine"; readonly answers: boolean }
);

/** An app that must exist at the end. */
export interface RemainingApp {
  readonly app: string;
  /** Index of the request it results from; `undefined` for the app that was installed before. */
  readonly by?: number;
  /** Instead of `by`, for an app of a group: id of its deployment, and what was asked for. */
  readonly ofGroup?: { readonly deployment: string; readonly spec: AppRequest };
  /** Whether it was stopped on purpose. */
  readonly stopped?: boolean;
}

/** Requests to one device, their expected outcomes, and the apps that must remain. */
export interface Scenario {
  /** Deployed before the scenario begins. */
  readonly installed?: AppRequest;
  /** Applied before the scenario begins, as deployment `before`. */
  readonly installedGroup?: ApplyRequestInput;
  /** Whether `installed` is stopped before the scenario begins. */
  readonly isStopped?: boolean;
  readonly requests: readonly ScenarioRequest[];
  /** In the order of `requests`. */
  readonly outcomes: readonly ("Success" | "Fail")[];
  readonly remainingApps: readonly RemainingApp[];
  readonly interventions?: readonly Intervention[];
  /** No event reaches the control plane before this time, in milliseconds. */
  readonly silentMs?: number;
  /** Whether it has so many moments that a sample of them is tried, unless all are asked for. */
  readonly isLong?: boolean;
  /** Who downloads images. Default: the agent. */
  readonly pullBy?: "agent" | "engine";
  /** What the agent keeps for the remaining apps beside their containers. Default: the network that apps share. */
  readonly kept?: {
    /** Networks as in a specification; empty for the one that apps share. */
    readonly networks?: readonly string[];
    /** Owners by the volumes' names; `any` where it depends on the moment whether there are any. */
    readonly volumes?: Readonly<Record<string, string>> | "any";
    /** Contents of placed files. */
    readonly files?: readonly string[];
    /** Contents that were fetched. */
    readonly fetched?: readonly SomeUpload[];
  };
  /** What the service has for the device. None of it may be received twice. */
  readonly uploads?: readonly SomeUpload[];
  /** Contents of all files of the requests that are not secret. */
  readonly contents?: readonly string[];
  setUp(rig: AgentRig): void;
}
