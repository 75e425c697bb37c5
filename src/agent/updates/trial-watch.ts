import { type Clock, pause } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import type { Logger } from "../../lib/logger.ts";
import { readRelease } from "../../lib/release/read-release.ts";
import { type ReleasesState, readReleases } from "../../lib/release/releases-state.ts";
import { unverifiedStatement } from "../../lib/release/statement.ts";
import { isUp } from "../core/app/container-decision.ts";
import { LABELS } from "../core/app/container.ts";
import { mayExit } from "../core/app/restart-policy.ts";
import { isTriedAgain, type TrialApp, trialObstacle } from "../core/updates/confirmation.ts";
import type { ContainerSummary, Engine } from "../engine/engine.ts";
import type { LinkStatus } from "../link/ports.ts";
import type { StoreReader } from "../store/store.ts";
import type { InstalledVersions } from "./agent-updates.ts";
import { runningRelease } from "./describe.ts";
import { findAnswer, askUpdater, handedLayout, lastRequest, layoutReader } from "./handover.ts";

const LOOK_INTERVAL_MS = 5_000;
/** Unanswered after this time, a request is repeated: the device may have lost its power in between. */
const ANSWER_TIMEOUT_MS = 60_000;
/** How long the version before must have been online before a release that was not confirmed is tried again. */
const RETRY_AFTER_ONLINE_MS = 60_000;

export interface TrialWatchOptions {
  readonly versions: InstalledVersions;
  readonly engine: Pick<Engine, "listContainers">;
  readonly store: Pick<StoreReader, "apps">;
  readonly isBusy: (app: string) => boolean;
  readonly link: () => Pick<LinkStatus, "state" | "sinceMs">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** An app that ran when the engine was first seen. */
interface SeenApp {
  readonly name: string;
  readonly containerId: string;
  readonly deploymentId: string;
  readonly mayExit: boolean;
}

/**
 * What the agent does about the version it is: on trial it confirms once it works; after a trial that could not confirm it
 * asks for another one. Otherwise it does nothing, and ends at once.
 */
export class TrialWatch {
  readonly #options: TrialWatchOptions;

  constructor(options: TrialWatchOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { versions, logger } = this.#options;
    const { releasesFolder, program } = versions;
    try {
      const state = readReleases(releasesFolder);
      const running = runningRelease(program, releasesFolder);
      if (state.trial?.version === running) await this.#confirm(running, signal);
      else if (!state.trial) await this.#tryAgain(state, signal);
    } catch (error) {
      if (!signal.aborted) logger.error({ err: error }, "the trial of a release is no longer watched");
    }
  }

  async #confirm(version: string, signal: AbortSignal): Promise<void> {
    const { logger, clock } = this.#options;
    logger.warn({ release: version }, "this version of the agent is on trial");
    const seen = await this.#firstSeen(signal);
    let told: string | undefined;
    while (!signal.aborted) {
      const obstacle = trialObstacle({ onlineForMs: this.#onlineForMs(), apps: await this.#compare(seen, signal) });
      if (obstacle === undefined) {
        if (await this.#ask({ action: "confirm", version }, signal)) {
          logger.info({ release: version }, "this version of the agent is confirmed");
          return;
        }
      } else if (obstacle !== told) {
        logger.info({ release: version }, `it is not confirmed yet: ${obstacle}`);
        told = obstacle;
      }
      await pause(clock, LOOK_INTERVAL_MS, signal);
    }
  }

  /** Asks for another trial of the release that was handed over, if it could not confirm. */
  async #tryAgain({ setAside }: ReleasesState, signal: AbortSignal): Promise<void> {
    const { versions, clock, logger } = this.#options;
    const { stateDir, architecture } = versions;
    const request = lastRequest(stateDir);
    if (request?.action !== "install" || setAside.size === 0) return;
    const { statement } = readRelease(layoutReader(handedLayout(stateDir)), unverifiedStatement, architecture);
    const aside = setAside.get(statement.version);
    if (!aside || !isTriedAgain(aside)) return;
    while (!signal.aborted && (this.#onlineForMs() ?? 0) < RETRY_AFTER_ONLINE_MS)
      await pause(clock, LOOK_INTERVAL_MS, signal);
    if (signal.aborted) return;
    logger.info({ release: statement.version }, "a release that could not be confirmed is tried again");
    await this.#ask({ ...request, again: true }, signal);
  }

  /** Resolves to whether the updater has done it. */
  async #ask(request: Parameters<typeof askUpdater>[1], signal: AbortSignal): Promise<boolean> {
    const { versions, clock, logger } = this.#options;
    const { stateDir, releasesFolder } = versions;
    const id = askUpdater(stateDir, request);
    const since = clock.monotonic();
    while (!signal.aborted && clock.monotonic() - since < ANSWER_TIMEOUT_MS) {
      const answer = findAnswer(id, releasesFolder);
      if (answer && !answer.ok) logger.warn({ code: answer.code }, `the updater has refused: ${answer.message}`);
      if (answer) return answer.ok;
      await pause(clock, LOOK_INTERVAL_MS, signal);
    }
    return false;
  }

  async #firstSeen(signal: AbortSignal): Promise<readonly SeenApp[] | undefined> {
    const { store, clock } = this.#options;
    while (!signal.aborted) {
      const containers = await this.#containers(signal);
      if (containers) {
        return store.apps().flatMap(({ name, deploymentId, spec }) => {
          const container = containers.find((other) => isOf(other, { name, deploymentId }) && isUp(other.status));
          if (!container) return [];
          return [{ name, deploymentId, containerId: container.id, mayExit: mayExit(spec.restart_policy) }];
        });
      }
      await pause(clock, LOOK_INTERVAL_MS, signal);
    }
    return undefined;
  }

  async #compare(seen: readonly SeenApp[] | undefined, signal: AbortSignal): Promise<TrialApp[] | undefined> {
    const containers = seen && (await this.#containers(signal));
    if (!containers) return undefined;
    const { store, isBusy } = this.#options;
    const apps = store.apps();
    return seen.map(({ name, containerId, deploymentId, mayExit }) => {
      const container = containers.find(({ id }) => id === containerId);
      const isSame = apps.some(
        (app) => app.name === name && app.deploymentId === deploymentId && app.desired === "running",
      );
      return {
        name,
        isChanged: isBusy(name) || !isSame,
        isThere: container !== undefined,
        isUp: container !== undefined && isUp(container.status),
        mayExit,
      };
    });
  }

  async #containers(signal: AbortSignal): Promise<readonly ContainerSummary[] | undefined> {
    try {
      return await this.#options.engine.listContainers(signal);
    } catch (error) {
      this.#options.logger.debug(`the container engine does not answer: ${errorText(error)}`);
      return undefined;
    }
  }

  #onlineForMs(): number | undefined {
    const { link, clock } = this.#options;
    const { state, sinceMs } = link();
    return state === "online" ? clock.monotonic() - sinceMs : undefined;
  }
}

function isOf(
  { labels }: ContainerSummary,
  { name, deploymentId }: { readonly name: string; readonly deploymentId: string },
): boolean {
  return labels[LABELS.app] === name && labels[LABELS.deployment] === deploymentId;
}
