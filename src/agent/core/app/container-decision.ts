import type { ContainerStatus } from "./container-status.ts";

/** What the agent does about an app's container in one state. */
interface ContainerDecision {
  /**
   * It runs, or continues without a start by the agent. It holds its host ports, and must be stopped before another
   * container takes its place.
   */
  readonly isUp: boolean;
  /**
   * It can never run again, and only its removal is left. The app counts as one without a container; another one is made.
   */
  readonly isLeftover: boolean;
  /** Of an installed app that is to run, by the reconciler. `start`: as far as its restart policy says. */
  readonly whenToRun: "leave" | "start" | "replace";
  /** Of an installed app that is to stay stopped, by the reconciler. */
  readonly whenToStop: "leave" | "stop" | "remove";
}

const UP = { isUp: true, isLeftover: false, whenToRun: "leave", whenToStop: "stop" } as const;
const DOWN = { isUp: false, isLeftover: false, whenToRun: "start", whenToStop: "leave" } as const;
const LEFTOVER = { isUp: false, isLeftover: true, whenToRun: "replace", whenToStop: "remove" } as const;

/**
 * The one table of the states in which an engine can leave a container, for deployments, rollbacks, repairs and clean-up
 * alike. docs/guarantees.md has it for people.
 */
const DECISIONS: Readonly<Record<ContainerStatus, ContainerDecision>> = {
  created: DOWN,
  running: UP,
  // A person has paused it. It stays so until the app is started, restarted, updated or removed.
  paused: UP,
  // The engine restarts it by its restart policy.
  restarting: UP,
  exited: DOWN,
  // Docker 20.10 lists one that it could not remove as being removed, for ever.
  removing: LEFTOVER,
  dead: LEFTOVER,
  // Of an engine that is newer than this agent: it is left to the engine.
  unknown: { isUp: false, isLeftover: false, whenToRun: "leave", whenToStop: "leave" },
};

/** Returns what the agent does about a container in this state. */
export function decisionOn(status: ContainerStatus): ContainerDecision {
  return DECISIONS[status];
}

/** Whether the container runs or continues by itself: see `ContainerDecision`. */
export function isUp(status: ContainerStatus): boolean {
  return DECISIONS[status].isUp;
}

/** Whether only its removal is left of the container: see `ContainerDecision`. */
export function isLeftover(status: ContainerStatus): boolean {
  return DECISIONS[status].isLeftover;
}
