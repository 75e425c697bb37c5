import type { Clock } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import { maskSecrets } from "../../lib/redact.ts";
import { isUp } from "../core/app/container-decision.ts";
import { hasLeftoverName, LABELS, leftoverName } from "../core/app/container.ts";
import { secretsOfRecord } from "../core/app/secrets.ts";
import type { DeploymentRecord, LeftContainer } from "../core/records.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { Observed, Step } from "../core/deployment/step.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { ContainerSummary, Engine } from "../engine/engine.ts";
import type { EngineTrouble } from "../engine/engine-troubles.ts";
import { findManagedContainers } from "../engine/managed-containers.ts";
import type { DeployServices, StepResult } from "./context.ts";
import { isEngineDown } from "./step-failure.ts";

/** A container that the engine cannot remove. It does not run. */
export interface Leftover extends LeftContainer {
  readonly app: string;
  /** Why, in the engine's words. */
  readonly reason: string;
}

/**
 * Removes a container. One that the engine cannot remove, and that does not run, is returned: it gets a name that no
 * app uses. Rejects if it still runs.
 */
export async function removeOrSetAside(
  engine: Pick<Engine, "removeContainer" | "inspectContainer" | "renameContainer">,
  id: string,
  signal: AbortSignal,
): Promise<Leftover | undefined> {
  try {
    await engine.removeContainer(id, signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== "not_removable") throw error;
    const container = await engine.inspectContainer(id, signal);
    if (!container) return undefined;
    if (isUp(container.status)) throw error;
    const app = container.labels[LABELS.app] ?? "";
    return { id, app, name: await setAside(engine, { ...container, app }, signal), reason: error.message };
  }
}

/** Returns the container's name by then. */
async function setAside(
  engine: Pick<Engine, "renameContainer">,
  { id, name, app }: { readonly id: string; readonly name: string; readonly app: string },
  signal: AbortSignal,
): Promise<string> {
  const aside = leftoverName(app, id);
  if (app === "" || name === aside) return name;
  try {
    await engine.renameContainer(id, aside, signal);
    return aside;
  } catch (error) {
    if (isEngineDown(error) || !(error instanceof EngineError)) throw error;
    return name;
  }
}

/** Describes a leftover for people. */
export function leftoverText({ name, reason }: Pick<Leftover, "name" | "reason">): string {
  return `The container engine could not remove the container ${name}, which does not run any more: ${reason}. The agent tries again.`;
}

/** Returns the leftover as a trouble of the engine. */
export function leftoverTrouble(leftover: Pick<Leftover, "name" | "reason">): EngineTrouble {
  return {
    text: leftoverText(leftover),
    next: `Free what it names: a process that uses a file (sudo fuser -v FILE), or an immutable one (sudo lsattr FILE). Often a restart of the engine helps: sudo systemctl restart docker. At once after that: sudo docker rm --force ${leftover.name}`,
  };
}

/** Returns the result of a step that could not remove containers of the version before, which an update has replaced. */
export function leaveBehind(
  { containerIds }: Extract<Step, { kind: "clean" }>,
  {
    record,
    observed,
    error,
  }: { readonly record: DeploymentRecord; readonly observed: Observed; readonly error: unknown },
): StepResult {
  const all = [...observed.containers, ...observed.others];
  const left = all.filter(({ id }) => containerIds.includes(id)).map(({ id, name }) => ({ id, name }));
  const reason = maskSecrets(errorText(error), secretsOfRecord(record));
  const text = `The previous version could not be removed: ${reason}. The agent tries again.`;
  return {
    record: { leftBehind: [...(record.leftBehind ?? []), ...left] },
    events: [runningEvent("removing", text)],
  };
}

const MIN_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 600_000;
const NO_IDS: ReadonlySet<string> = new Set();

type SweeperServices = Pick<DeployServices, "engine" | "clock" | "logger" | "config" | "troubles"> & {
  readonly lease: (app: string) => Disposable | undefined;
};

/** Tries again to remove the containers that the engine could not remove, with pauses of one to ten minutes. */
export class LeftoverSweeper {
  readonly #services: SweeperServices;
  readonly #clock: Clock;
  /** By container id. */
  readonly #tried = new Map<string, { readonly tries: number; readonly lastTryAt: number }>();

  constructor(services: SweeperServices) {
    this.#services = services;
    this.#clock = services.clock;
  }

  /** Removes each that has been set aside and is due. @param containers all on the machine */
  async sweep(containers: readonly ContainerSummary[], signal: AbortSignal): Promise<void> {
    const { engine, config, lease } = this.#services;
    const listed = new Set(containers.map(({ id }) => id));
    for (const id of this.#tried.keys()) if (!listed.has(id)) this.#forget(id);
    const setAside = containers.filter(({ status, name, labels }) => {
      const { [LABELS.app]: app, [LABELS.stateDir]: stateDir } = labels;
      return app !== undefined && stateDir === config.stateDir && hasLeftoverName(name, app) && !isUp(status);
    });
    for (const { id, app } of await findManagedContainers(setAside, { engine, recorded: NO_IDS }, signal)) {
      using appLease = lease(app);
      if (appLease) await this.remove(id, app, signal);
    }
  }

  /** Removes a container, unless that has failed shortly before. Must be called with a lease of the app. */
  async remove(id: string, app: string, signal: AbortSignal): Promise<void> {
    const { engine, logger, troubles } = this.#services;
    const { tries = 0, lastTryAt = 0 } = this.#tried.get(id) ?? {};
    const now = this.#clock.monotonic();
    if (tries > 0 && now - lastTryAt < Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** (tries - 1))) return;
    const leftover = await removeOrSetAside(engine, id, signal);
    if (leftover) {
      if (tries === 0) logger.warn({ app, container: leftover.name }, leftoverText(leftover));
      this.#tried.set(id, { tries: tries + 1, lastTryAt: now });
      troubles.setContainer(id, leftoverTrouble(leftover));
    } else if (this.#forget(id)) {
      logger.info({ app, container: id }, "a container that could not be removed before is removed");
    }
  }

  #forget(id: string): boolean {
    this.#services.troubles.setContainer(id, undefined);
    return this.#tried.delete(id);
  }
}
