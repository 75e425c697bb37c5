import { succeed } from "../../support/command.ts";
import { PrivateEngine, privateEngineUnavailableReason } from "../../support/private-engine.ts";
import { startSystem, type System } from "../system.ts";
import { createLimitedGroup, type LimitedGroup, type Limits } from "./limited-group.ts";

/** The smallest device the agent is for. */
export const SMALL: Limits = { processors: 0.25, memoryBytes: 256 * 1024 * 1024 };

/** An agent whose process and apps share the limits, on an engine of its own without limits. */
export interface SmallSystem extends AsyncDisposable {
  readonly group: LimitedGroup;
  readonly engine: PrivateEngine;
  readonly system: System;
  /** Prefix of a `docker` command in the same group, for the same engine. */
  readonly docker: readonly string[];
}

/** @param environment of the agent */
export async function startSmallSystem(environment: Readonly<Record<string, string>> = {}): Promise<SmallSystem> {
  const missing = await privateEngineUnavailableReason();
  if (missing !== undefined) throw new Error(`a small device cannot be made here: ${missing}`);
  await using owner = new AsyncDisposableStack();
  const group = owner.use(await createLimitedGroup(SMALL));
  const engine = owner.use(await PrivateEngine.start({ cgroupParent: group.path }));
  const config = { engine: { socket: engine.socketPath }, deploy: { settle_window_s: 0 } };
  const system = owner.use(await startSystem(config, { wrapperCommand: group.wrapperCommand, environment }));
  const parts = owner.move();
  return {
    group,
    engine,
    system,
    docker: [...group.wrapperCommand, "docker", "--host", `unix://${engine.socketPath}`],
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** Runs a command line until it exits. Rejects unless it exits with 0. */
export async function execute(...command: readonly string[]): Promise<string> {
  const [program = "", ...args] = command;
  return await succeed(program, args);
}
