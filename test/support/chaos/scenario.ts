import type { AgentRig } from "../agent-rig.ts";
import type { AppRequest } from "../system.ts";
import type { ScenarioRequest } from "./model-control-plane.ts";

/** Something that happens at some time, in milliseconds of the fake clock. */
export type Intervention = { readonly atMs: number } & (
  | { readonly kind: "cancel" }
  | { readonly kind: "engine"; readonly answers: boolean }
);

/** An app that must be there in the end. */
export interface RemainingApp {
  readonly app: string;
  /** Index of what was asked for that it is the result of; `undefined` for the app that was there before. */
  readonly by?: number;
  /** Whether it was stopped on purpose. */
  readonly stopped?: boolean;
}

/** A story of one device, how everything that was asked for must end, and what must be there then. */
export interface Scenario {
  /** Deployed before anything can happen, to be changed. */
  readonly installed?: AppRequest;
  /** Whether that one is stopped before. */
  readonly isStopped?: boolean;
  readonly requests: readonly ScenarioRequest[];
  /** In the order of `asked`. */
  readonly outcomes: readonly ("Success" | "Fail")[];
  readonly remainingApps: readonly RemainingApp[];
  readonly interventions?: readonly Intervention[];
  /** The control plane hears nothing before that time, in milliseconds. */
  readonly silentMs?: number;
  /** Who downloads images. Default: the agent. */
  readonly pullBy?: "agent" | "engine";
  setUp(rig: AgentRig): void;
}
